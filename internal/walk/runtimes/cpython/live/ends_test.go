// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

func chainsOf(how string) [][]string {
	chains := [][]string{{"<module>", "child", "works", "leaf"}, {"works", "leaf"}, {"sleeps"}, {"is_killed"}}
	switch how {
	case "forked", "forked-untold":
		chains = append(chains, []string{"<module>", "forks", "child", "works", "leaf"})
	case "forked-thread":
		chains = append(chains, []string{"forks", "child", "works", "leaf"})
	case "finalizing":
		chains = append(chains, []string{"Last.__del__", "child", "works", "leaf"},
			[]string{"__del__", "child", "works", "leaf"})
	}
	return chains
}

func own(stack []frame, file string) (list []string, whole bool) {
	for _, f := range stack {
		if f.truth == managed.Freed {
			return nil, false
		}
		if filepath.Base(f.File) == file {
			list = append(list, f.Function)
		}
	}
	return list, true
}

func begins(stack []string, chains [][]string) bool {
	return slices.ContainsFunc(chains, func(c []string) bool {
		return len(stack) <= len(c) && slices.Equal(stack, c[:len(stack)])
	})
}

// Cases: children of a process with threads, ended threads, and interpreters that end.
func TestForkedAndEndingProcessesHaveTheirOwnFrames(t *testing.T) {
	for version, exe := range pythons(t) {
		for _, how := range []string{"forked", "forked-untold", "forked-thread", "killed", "finalizing"} {
			if how == "forked-untold" && runtime.GOARCH != "amd64" {
				continue // tidOf is known for x86-64
			}
			t.Run(version+"/"+how, func(t *testing.T) {
				_, line := observed.Launch(t, exe, "testdata/ends.py", how)
				pid, err := strconv.Atoi(line)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
				py := attach(t, pid)
				py.mayEnd = true
				looks, deep, unmatched := 0, 0, 0
				began := time.Now()
				for n := 0; deep < 20 && (n < 20 || time.Since(began) < testtargets.Patience && how != "finalizing"); n++ {
					py.looks(t, 10, func(tid int, _ *observe.RawSample, stack []frame, _ []uint64, h managed.Health) {
						looks++
						list, whole := own(stack, "ends.py")
						switch {
						case h != managed.Matched || !whole:
							unmatched++
						case !begins(list, chainsOf(how)):
							t.Errorf("thread %d of %d: %q", tid, pid, list)
						case tid == pid && slices.Contains(list, "works"):
							deep++
						}
					})
				}
				t.Logf("%s: %d looks, %d at the main thread with its functions, %d not merged", py.names.Name(), looks, deep,
					unmatched)
				if deep < 20 && how != "finalizing" {
					t.Errorf("the main thread has its functions in %d of %d looks", deep, looks)
				}
			})
		}
	}
}

// The program starts and ends its interpreter repeatedly.
func TestReinitialisedInterpretersHaveRightFramesOrNone(t *testing.T) {
	t.Setenv("AGAIN", "1")
	for name, e := range embedders(t) {
		if e.static {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cmd, _ := observed.Launch(t, e.build(t), "testdata/hosted.py", "again")
			py := attachSoon(t, cmd.Process.Pid)
			chain := slices.DeleteFunc(slices.Clone(hosted), func(f string) bool { return strings.HasPrefix(f, "host_") })
			slices.Reverse(chain)
			chains := [][]string{chain, {"<module>", "Last"}, {"Last.__del__", "leaf"}, {"__del__", "leaf"}}
			looks, right := 0, 0
			end := time.Now().Add(time.Second)
			for time.Now().Before(end) {
				py.looks(t, 10, func(_ int, _ *observe.RawSample, stack []frame, _ []uint64, h managed.Health) {
					looks++
					list, whole := own(stack, "hosted.py")
					switch {
					case h != managed.Matched || !whole || len(list) == 0:
					case !begins(list, chains):
						t.Errorf("%q, of the program %q", names(stack), list)
					default:
						right++
					}
				})
			}
			t.Logf("%d looks, %d with the program's functions", looks, right)
		})
	}
}

func attachSoon(t *testing.T, pid int) *python {
	t.Helper()
	var py *python
	testtargets.Eventually(t, "the program has an interpreter", func() (found bool) {
		var err error
		py, err = find(t, pid)
		return err == nil
	})
	return py
}
