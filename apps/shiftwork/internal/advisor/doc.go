// Package advisor reads sequential Go code, finds the loops that are marked for distribution, and says where the hook
// should go and what to insert.
//
//	//shiftwork:distribute [free|pipelined|synchronous] [name=count ...]
//	for j := 1; j < n-1; j++ {
//
// The mark stands on the line above a for statement. The optional word overrides how the ranks wait for each other,
// where the code does not show it; name=count is a hint for a bound that the code does not show, such as n=1000.
//
// # Model
//
//	source -> loops with trip counts -> operations -> dependences -> placement.Choose -> code to insert
//
// In detail:
//
//   - Trip counts are polynomials in the names that bound the loop, with constants and hints put in; a bound that
//     depends on the variable of an outer loop (a triangle) counts with that variable's middle value. While-style loops
//     are unknown.
//   - Operations: 1 for each arithmetic operation, comparison and indexing; a table for built-in functions; functions of
//     the same package are counted through, others cost a lump. Branches count with their mean. Orders of magnitude
//     matter.
//   - Dependences: for each array that the marked loop's body writes, the distance in iterations between what is written
//     and what is read. Reading what an earlier iteration writes makes a pipeline; reading other rows that are written
//     somewhere in the nest makes the ranks wait for each other (an exchange); nothing of the kind makes them free.
//   - A nest whose distributed loop stands outside the loop to be pipelined, as SOR is written in Go, gets the strips of
//     the inner loop moved around the distributed one, where the distances allow it.
//
// # Invariants
//
// Any Go source gives advice or an error of one line, never a panic. The same source gives the same advice: nothing
// depends on a map's order, on other packages or on the machine.
//
// # What it does not do
//
// It reads one package at a time with go/parser and go/types and loads none that it imports: what comes from them is
// unknown. It is no proof of independence: pointers, calls and arrays that share memory can hide dependences, and it
// says where it had to trust. It changes no file.
package advisor
