// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The fragments of the contract, each view with each search, thread and part of the time: all show the report's sums.
func TestEachFragmentHasTheSumsOfTheReportInABrowser(t *testing.T) {
	p := timedFixture(t)
	ctx := browser(t, p)
	for _, thread := range [][2]string{{}, {"worker-2", "worker-2"}, {"spike", "spike"}, {"pool-*", "pool-"}} {
		for _, r := range [][2]time.Duration{{}, {2 * time.Second, 3 * time.Second}, {3100e6, 3450e6}} {
			var out bytes.Buffer
			if err := JSON(&out, p, false, Options{From: r[0], To: r[1], Thread: thread[1]}); err != nil {
				t.Fatal(err)
			}
			var want jsonReport
			if err := json.Unmarshal(out.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			for _, view := range []string{"flame", "functions", "waits", "tracks"} {
				for _, search := range []string{"", "futex", "compress"} {
					fragment := fmt.Sprintf("view=%s&search=%s&thread=%s", view, search, thread[0])
					if r[1] > 0 {
						fragment = fmt.Sprintf("from=%s&to=%s&", r[0], r[1]) + fragment
					}
					s := show(ctx, t, fragment)
					for _, clock := range []string{"cpu", "wall", "runqueue", "blocked", "samples"} {
						if got := s.Totals[clock]; got != fmt.Sprint(want.Total[clock]) {
							t.Errorf("%s: %s: the page has %s, the report %d", fragment, clock, got, want.Total[clock])
						}
					}
					for _, given := range []string{"view=" + view, "search=" + search, "thread=" + thread[0]} {
						if !strings.HasSuffix(given, "=") && !strings.Contains(s.Hash, given) {
							t.Errorf("%s: %s is lost in %s", fragment, given, s.Hash)
						}
					}
				}
			}
		}
	}
}
