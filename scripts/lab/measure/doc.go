// Package measure turns runs on a cluster of workstations into the figures of Siegell & Steenkiste 1997.
//
// Efficiency is equation (2), and for workstations of different speeds (2'):
//
//	                 t_sequential
//	────────────────────────────────────────────────      s_i = speed of workstation i, relative to the reference
//	 t_elapsed · sum_i s_i  -  sum_i s_i · compete_i
//
// that is, the share of the computing that the competing loads left over which went into the program's work.
// t_sequential is the program's time on one rank, alone on the reference workstation; compete_i is how long the loads
// had workstation i.
//
// The penalty of a load is the time that it costs a run without balancing. Of that, balancing can remove at most what
// separates it from the ideal time, in which the work is spread anew, at no cost, whenever a load starts or stops. The
// share removed is
//
//	 T_none - T
//	──────────────      1: as good as the ideal;  0: as without balancing
//	T_none - T_ideal
//
// T_ideal follows from the time of a dedicated run and from the script of the loads (Ideal).
//
// Times are seconds.
//
// It does not repeat measurements until they are good enough, and does not judge them: medians stand beside all values.
package measure
