// Package filter turns the raw rates of one rank, in work units per second of computing time, into filtered rates.
//
// # Model
//
// Equation (16) of Siegell & Steenkiste 1997 (S&S 1997) is a recursive low-pass filter,
//
//	r'_i = (1-h) r_i + h r'_{i-1},   0 <= h <= 1,
//
// r_i the raw rate of the latest phase, r' the filtered one, h the history fraction. What h is makes the filter:
//
//	raw      h = 0: no filter
//	fixed:H  h = H always; for some H too slow for steps, for others too weak against noise
//	state    h from a state machine that knows direction and duration of the trend (section 6.1, Table 1). A fall is
//	         trusted sooner than a rise: when ranks wait for each other a slow rank delays all, a fast one nobody
//	step     no h: a change-point filter, see Steps
//	median:N no h: the median of the last N rates, N odd
//	levels   no h: remembers the levels between which the rate moves, see Levels
//	A+B      what A returns, filtered by B
//	auto     levels
//
// # The state machine
//
// The table is data (t1.txt, the format is that of ParseTable), so that another one can be put in its place. The
// paper's cells are lost but for three "1.0 (all history)"; T1 is rebuilt from its sentences: the first sample against
// a confirmed trend is ignored, a fall is then believed within two samples, a rise within three or more.
//
//	         decrease 0.8                       increase: raw >= previous filtered (a tie is an increase)
//	    U1 ----------------> D1 --.             decrease: raw <  previous filtered
//	    |^   increase 1.0   / ^   | decrease
//	inc ||`----------------'  |   | 0.2
//	0.8 | `------------.      |   v
//	    v   inc. 1.0    `-----|-- D2 <-. decrease 0.1
//	    U2 -------------------'    `---'
//	    '.' increase 0.6   decrease 1.0 (U2 to D1)
//
// The first sample is taken as it is; the state is then U1.
//
// # What is ours
//
// A low-pass filter pays for each bit of noise that it takes away with a delay. Levels pays neither: where a competitor
// comes and goes, the rate goes back to where it has been before, and the mean over all visits to that level is known
// exactly at the first sample. A sample far off can be that, or a dip that is over with the next one; how often it was
// either, at this level of this rank, is counted, and lb decides with these odds.
//
//	rate   ----.            .-------            ----.   .--------            far off: suspected
//	           '------------'                       '---'                    the next one agrees: a visit, or
//	           ^ the mean of level 2 at once            a dip                it is back: a dip, one more counted
//
// A load that comes in the midst of a sample makes one between two levels. Where that to which it would lead is known, it is suspected of being on the way
// there; where it is not, the new level is the mean of that sample and the next one, until the third tells whether the first belongs to it.
// What was seen of the first visit may be its end only: it says how long visits last only until one has been seen from beginning to end.
//
// In closed loop (internal/closedloop, P = 4, a load of 60 s cycles) it removes 0.84 of the interference penalty where the
// state machine removes 0.62, and who knows the true rates 0.87.
//
// # Invariants
//
// A filtered rate of raw, fixed and state lies between the smallest and the largest raw rate seen; those of step and levels do too.
// Multiplying all raw rates by a constant multiplies all filtered rates by it. A sample that is not a rate (negative,
// NaN, infinite) is ignored. Same input, same output: no clock, no randomness.
//
// # What it does not do
//
// It knows one rank only; imbalance, thresholds and moves are decided in lb. It does not know how long the phases
// were: keeping them long enough against the scheduling quantum is the task of the period.
package filter
