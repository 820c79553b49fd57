// Package chart draws figures of one or more panels as PNG and SVG, through gonum/plot, in one style: dark on white, colours
// that colour-blind readers tell apart (Okabe and Ito 2008), a legend wherever there is more than one series, a unit on every
// axis.
//
//	chart.Figure{Title: "...", Rows: [][]chart.Panel{{left, right}}}.Save("docs/figures/fig08")
//
// A panel shows series over grey bands (when a load was there), between lines that mark what is ideal or promised.
//
// It reads no data and computes nothing.
package chart
