package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	path := recorded(t)
	dir := filepath.Dir(path)
	code, out, stderr := start(t, "report", path)
	assert.Zero(t, code, stderr)
	assert.Equal(t, filepath.Join(dir, "run.html")+"\n", out)
	page, err := os.ReadFile(filepath.Join(dir, "run.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "<title>run.jsonl: shiftwork report</title>")
	assert.Contains(t, string(page), "the load on rank 1 would have cost")

	files := []string{filepath.Join(dir, "a.html"), filepath.Join(dir, "b.png"), filepath.Join(dir, "c.svg")}
	code, out, stderr = start(t, "report", path, "--svg", files[2], "--png", files[1], "--output", files[0])
	assert.Zero(t, code, stderr)
	assert.Equal(t, strings.Join(files, "\n")+"\n", out)
	for i, begins := range []string{"<!DOCTYPE html>", "\x89PNG", "<?xml"} {
		content, err := os.ReadFile(files[i])
		require.NoError(t, err)
		assert.True(t, bytes.HasPrefix(content, []byte(begins)), files[i])
	}
}

func TestReportMistakes(t *testing.T) {
	path := recorded(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "other.txt")
	require.NoError(t, os.WriteFile(other, []byte("result: x\n"), 0o600))
	page := filepath.Join(t.TempDir(), "run.html") // a recording that has the name of its page
	require.NoError(t, os.Link(path, page))
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "<recording>"},
		{[]string{filepath.Join(dir, "no.jsonl")}, "no.jsonl: no such file or directory; accepted is what a program has written for --record"},
		{[]string{other}, "other.txt: no recording"},
		{[]string{path, "--png", filepath.Join(dir, "x.jpg")}, "is not accepted, only a file name that ends in .png"},
		{[]string{path, "--svg", filepath.Join(dir, "x")}, "is not accepted, only a file name that ends in .svg"},
		{[]string{path, "--output", filepath.Join(dir, "x.png")}, "is not accepted, only a file name that ends in .html"},
		{[]string{path, "--output", filepath.Join(dir, "no", "x.html")}, "x.html"},
		{[]string{page}, "--output"},
		{[]string{path, "--output", page}, "is not accepted, only another file than the recording"},
	} {
		code, out, stderr := start(t, append([]string{"report"}, c.args...)...)
		assert.Equal(t, 2, code, c.args)
		assert.Empty(t, out)
		assert.Contains(t, stderr, c.says)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing half-written stays")
	first, err := os.ReadFile(path)
	require.NoError(t, err)
	last, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, first, last, "the recording is what it was")
}
