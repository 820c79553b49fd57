// Package report makes one self-contained HTML page of a recorded run (--record of the programs), and a figure of it as PNG or
// SVG.
//
//	recording --> Read --> Run: a few hundred columns of time for each loop --> Page    HTML, for a browser
//	                                                                        --> Figure  PNG or SVG, for a text
//
// The page shows the summary (apps/internal/summary), and over time for each rank its rate, its share of the work and how its
// time was spent, and every decision with its reason. It holds its data, styles and script, loads nothing, and forbids the
// browser to (Content-Security-Policy). The script draws on canvases; the numbers of the summary are plain HTML and need none.
//
// # Columns
//
// A column is the time from one interaction to the next. Where there are more of them than can be told apart on a screen,
// neighbours are taken together: times and units are added up, of imbalances the largest is kept, of rates the smallest and
// the largest too. At most 96 000 cells (columns times ranks) and 2 000 columns are kept, and memory is bounded by that. The
// last column is what the ranks did after the last interaction: the report at the end of the loop minus all that was reported
// before. Of decisions, all that moved work are kept (of more than 1 500 those that moved most) and of the others one for
// each column, the one with the largest imbalance, 500 at most.
//
// # Units and limits
//
// Times are seconds since the loop began, by the master's clock; rates are work units a second of computing. A status tells
// how long a rank computed, waited and moved since the one before, not in which order: within a column the page draws them one
// behind the other. Up to eight ranks are drawn as lines, more as rows of colour.
package report
