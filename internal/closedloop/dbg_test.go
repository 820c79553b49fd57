package closedloop
import ("testing";"shiftwork/lb")
func TestDbg(t *testing.T) {
	Debug=true
	x := Model{Ranks:2, Noise:.05, MoveFixed:2, MoveAll:20, Period:1, Duration:200, Cycle:5}
	x.Run(auto(2, lb.Config{Period: 1}), 1)
	Debug=false
}
