package lb

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the decisions in testdata")

// The scripts in testdata say what happens and what is expected (see script), and behind a line "----" what the
// balancer decided. Rewrite that part with
//
//	go test ./lb -run Golden -update
//
// and read the difference. What a script expects is held then too.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			source, want, _ := strings.Cut(string(text), "----\n")
			require.True(t, strings.HasPrefix(source, "# "), "it begins with a sentence on what it shows")
			script := parseScript(t, source)
			var runs []*scripted
			got := ""
			for _, c := range script.configs {
				run := script.play(t, c)
				runs = append(runs, run)
				if len(script.configs) > 1 {
					got += c.line + "\n"
				}
				got += run.transcript
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(source+"----\n"+got), 0o644))
			}
			for _, line := range script.expectations {
				expect(t, line, runs)
			}
			if !*update {
				require.Equal(t, want, got, "if this is meant: go test ./lb -run Golden -update")
			}
		})
	}
}

// claims says where each claim of S&S 1997 about the decision is held: scripts in testdata, or what only a run in real
// time can show.
var claims = []struct{ claim, where string }{
	{"4.10", "claim_4_10_rates_need_ten_quanta"},
	{"4.11", "claim_4_11_longer_periods_unfiltered"},
	{"4.12", "real time: the CPU time of the master; here only BenchmarkDecide"},
	{"4.13", "claim_4_13_raw_follows_every_fluctuation"},
	{"4.14", "claim_4_14_constant_load"},
	{"4.15", "claim_4_15_under_use_inside_the_threshold stuck_inside_threshold"},
	{"4.16", "claim_4_16_larger_chunks"},
	{"4.17", "claim_4_17_cheap_moves claim_4_17_dear_moves"},
	{"4.18", "claim_4_18_dedicated claim_4_18_constant_load"},
	{"4.19", "claim_4_19_load_60s_cheap_moves claim_4_19_load_60s_dear_moves claim_4_19_load_20s_cheap_moves " +
		"claim_4_19_load_20s_dear_moves"},
	{"4.20", "claim_4_20_model_60s claim_4_20_model_20s claim_4_20_model_dear_moves"},
	{"4.21", "claim_4_21_movement_is_the_largest_loss"},
	{"4.22", "claim_4_22_pipelined_stable claim_4_22_pipelined_dynamic"},
	{"4.23", "claim_4_23_all_three_are_needed"},
}

func TestEveryClaimHasItsScript(t *testing.T) {
	listed := map[string]bool{}
	for i, c := range claims {
		require.Equal(t, fmt.Sprintf("4.%d", 10+i), c.claim)
		if strings.HasPrefix(c.where, "real time: ") {
			continue
		}
		for _, name := range strings.Fields(c.where) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			require.NoError(t, err, "claim %s", c.claim)
			require.Contains(t, string(text), "\nexpect ", "%s holds nothing", name)
			listed[name] = true
		}
	}
	require.Equal(t, "4.23", claims[len(claims)-1].claim)
	files, err := filepath.Glob("testdata/claim_*.txt")
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, listed[strings.TrimSuffix(filepath.Base(file), ".txt")], "%s is not in the table", file)
	}
}

// reasons lists what a Decision may give for moving work or not, by a part of it, and a script in which it does.
var reasons = []struct{ text, script string }{
	{"one worker: nowhere to move work to", "reason_one_worker"},
	{"nothing to divide", "reason_nothing_to_divide"},
	{"no rates yet, or no work", "free_loop"},
	{"balanced: imbalance", "reason_below_threshold"},
	{"may be noise", "reason_may_be_noise"},
	{"but whole iterations cannot be divided better", "reason_whole_iterations"},
	{"but whole iterations save only", "reason_whole_iterations_save_little"},
	{"it must last a little for a first move", "reason_first_move_unknown_cost"},
	{"; the first move, its cost is unknown", "reason_first_move_unknown_cost"},
	{"; moving costs", "load_comes_and_goes"},
	{"but moving costs", "reason_costs_more_than_it_brings"},
	{"but the loop ends before a move is made", "reason_ends_before"},
	{"but moves have brought only", "reason_moves_have_not_paid"},
	{"but ranks wait for messages, and a sweep takes", "reason_messages_set_the_pace"},
	{"but the data of a first move alone takes", "reason_first_move_known_cost"},
	{"; the first move, its data alone takes", "reason_first_move_known_cost"},
	{"it pays to stay divided for its slow times", "reason_stay_divided_for_the_slow_times"},
	{"and its neighbours need not wait for", "reason_slack"},
	{`(plan "mean")`, "reason_slack"},
	{`(plan "next")`, "reason_plan_next"},
	{"; the loop ends before another interaction pays", "free_loop_last_interaction"},
	{"rotating, whatever the rates", "rotate"},
	{"a random distribution, whatever the rates", "random"},
	{"balancing is off", "claim_4_18_dedicated"},
}

func TestEveryReasonIsGivenInAScript(t *testing.T) {
	for _, r := range reasons {
		text, err := os.ReadFile(filepath.Join("testdata", r.script+".txt"))
		require.NoError(t, err)
		_, decisions, _ := strings.Cut(string(text), "----\n")
		assert.Contains(t, decisions, r.text, r.script)
	}
}
