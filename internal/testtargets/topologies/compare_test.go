// SPDX-License-Identifier: Apache-2.0

package topologies

import (
	"fmt"
	"testing"

	"prywalk/internal/show/chains"
)

// The first process waits for 100, of which the second one computes for 80.
func TestOnlyEndsBetweenPhasesAreForgiven(t *testing.T) {
	s := Service{Languages: []string{"c", "c"}, Mutex: []bool{false, false}, Links: []string{"pipe"},
		Phases: [][]string{{"call"}, {"compute:1"}}}
	w := Written{{0, "call", 0, 100}, {1, "compute", 10, 90}}
	for _, c := range []struct {
		ends map[string]int64
		want float64
	}{
		{map[string]int64{"compute": 80, "await_request": 20}, 0},
		{map[string]int64{"compute": 80, "call": 10, "main.awaitRequest": 10}, 0},
		{map[string]int64{"compute": 70, "await_request": 30}, 10},
		{map[string]int64{"compute": 80, "[not observed]": 20}, 20},
		{map[string]int64{"compute": 70, "await_request": 20, "time.now": 10}, 10},
		{map[string]int64{"compute": 100}, 0},
	} {
		r := &chains.Report{}
		for function, blocked := range c.ends {
			r.Chains = append(r.Chains, chains.Chain{
				Blocked: blocked, Links: []chains.Link{{PID: 7, Function: "call"}},
				End: chains.End{Kind: chains.Queued, PID: 8, Function: function},
			})
		}
		got := s.Compare(r, []int{7, 8}, w, 0, 100)
		if text := fmt.Sprintf("%.1f", 100*got.Ends["elsewhere"]); text != fmt.Sprintf("%.1f", c.want) {
			t.Errorf("%v: %s points elsewhere, want %.1f", c.ends, text, c.want)
		}
	}
}
