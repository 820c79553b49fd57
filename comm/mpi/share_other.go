//go:build cgo && !nompi && !linux

package mpi

func offerMemory(int) (offer, error) { return noOffer, errNoMemory }

func (offer) close() {}

func mapMemory(int, int, int) ([]byte, error) { return nil, errNoMemory }

func unmap([]byte) {}
