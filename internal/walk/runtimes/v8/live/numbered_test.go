// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/watch/target"
)

// Two functions that call each other have the same number.
func TestFunctionsThatAreMadeAndDroppedHaveTheirOwnNamesOrNone(t *testing.T) {
	for version, exe := range nodes(t) {
		for _, flags := range [][]string{
			{"--gc-interval=500", "--max-semi-space-size=1"},
			{"--gc-interval=500", "--max-semi-space-size=1", "--always-sparkplug"},
		} {
			if !takes(exe, flags) {
				continue
			}
			t.Run(version, func(t *testing.T) {
				pid := start(t, exe, "jschain.js", append(flags, "numbered")...)
				named, lost, wrong := int64(0), int64(0), 0
				// On a busy host a recording can lack them.
				for n := 0; n < 200 && named+lost == 0; n++ {
					r := record(t, pid, chains, target.SamplingOptions{Freq: 499})
					each(r, func(s *pprof.Sample, stack []call) {
						for i := 0; i+1 < len(stack); i++ {
							in, out := stack[i], stack[i+1]
							switch {
							case out.lost() && in.lost():
								lost += s.Value[0]
							case strings.HasPrefix(in.name, "n") && strings.HasPrefix(out.name, "o") &&
								isNumber(out.name[1:]):
								if named += s.Value[0]; in.name[1:] != out.name[1:] {
									if wrong++; wrong < 8 {
										t.Errorf("%s is called by %s", in, out)
									}
								}
							}
						}
					})
				}
				t.Logf("%s: %d pairs with names, %d without, %d wrong", flags, named, lost, wrong)
				if named+lost == 0 {
					t.Error("no such functions were seen")
				}
			})
		}
	}
}

func isNumber(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
