// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
)

func TestThreadsHaveTheNamesOfThreading(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := observed.Launch(t, exe, "testdata/named.py")
			want := map[int]string{}
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatal(err)
			}
			names := attach(t, cmd.Process.Pid).names.(managed.ThreadNamer)
			for tid, name := range want {
				if got, ok := names.ThreadName(tid); !ok || got != name {
					t.Errorf("%d: %q, %v, want %q", tid, got, ok, name)
				}
			}
			if got, ok := names.ThreadName(1); ok {
				t.Errorf("thread 1 is none of it, and is called %q", got)
			}
			if len(want) != 34 {
				t.Errorf("%d threads", len(want))
			}
		})
	}
}

func TestTheMainThreadOfAGreenletProgramHasItsName(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := observed.Launch(t, exe, "testdata/rekeyed.py")
			names := attach(t, cmd.Process.Pid).names.(managed.ThreadNamer)
			if name, ok := names.ThreadName(cmd.Process.Pid); !ok || name != "MainThread" {
				t.Errorf("the main thread is %q, %v, want MainThread", name, ok)
			}
		})
	}
}

func TestNamesOfShortLivedThreadsAreTheirOwn(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := observed.Launch(t, exe, "testdata/shortnames.py")
			py := attach(t, cmd.Process.Pid)
			names := py.names.(managed.ThreadNamer)
			named, fresh, unknown := 0, 0, 0
			looks := 0
			testtargets.Eventually(t, "a hundred looks, and a thread with a name", func() bool {
				looks++
				tids, err := py.p.Threads(nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, tid := range tids {
					switch name, ok := names.ThreadName(tid); {
					case !ok:
						unknown++
					case tid == cmd.Process.Pid && name == "MainThread", name == fmt.Sprintf("thread %d", tid):
						named++
					case tid != cmd.Process.Pid && name == "new":
						fresh++
					default:
						t.Errorf("thread %d is called %q", tid, name)
					}
				}
				return looks >= samplesOf(100) && named > 0
			})
			t.Logf("%s: %d named, %d before their name was set, %d not known", py.names.Name(), named, fresh, unknown)
		})
	}
}
