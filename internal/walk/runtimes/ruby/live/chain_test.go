// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

// between are the frames from a function of testdata/chain.rb (%s) to its callee, by its number modulo 10.
var between = [][]string{
	{},
	{"each", "block in %s"},
	{"sort_by", "each", "block in %s"},
	{"block in %s"},
	{"map", "block in %s"},
	{"max", "<=>"},
	{"gsub", "block in %s"},
	{"rescue in %s"},
	{"run", "block in %s"},
	{"catch", "block in %s"},
}

func pattern(k int, qualified bool) (list []string) {
	for _, s := range between[k%len(between)] {
		s = strings.Replace(s, "%s", "f_"+strconv.Itoa(k), 1)
		if qualified && strings.HasPrefix(s, "rescue in ") {
			continue
		}
		list = append(list, s)
	}
	return list
}

func plain(name string) string {
	before, name, cut := strings.Cut(name, " in ")
	if !cut {
		before, name = "", before
	} else {
		before += " in "
	}
	if i := strings.LastIndexAny(name, "#"); i >= 0 {
		name = name[i+1:]
	}
	return before + name
}

func record(mem frames.Memory, at uint64) (list []int, ok bool) {
	var b []byte
	for i := uint64(0); i < 64; i += 8 {
		v, ok := mem.Word(at + i)
		if !ok {
			return nil, false
		}
		for range 8 {
			b = append(b, byte(v))
			v >>= 8
		}
	}
	for _, k := range b[1 : 1+min(int(b[0]), 60)] {
		list = append(list, int(k))
	}
	return list, true
}

// check returns the fault of a stack or "". The program's functions must be those of its record, or one more that
// begins or returns, with the frames of between at the line of the call.
func check(stack []observed.Frame, list []int, qualified bool) string {
	var got []string
	first := -1
	for i, f := range stack {
		if first < 0 && strings.HasPrefix(plain(f.Function), "f_") {
			first = i
		}
		got = append(got, plain(f.Function))
	}
	if first < 0 {
		if len(list) > 0 {
			return fmt.Sprintf("no function, the record has %v", list)
		}
		return ""
	}
	stack, got = stack[first:], got[first:]
	for n, k := range list {
		want := "f_" + strconv.Itoa(k)
		if len(got) == 0 || got[0] != want {
			return fmt.Sprintf("%d: %v, want %s", n, got[:min(len(got), 1)], want)
		}
		if stack[0].File != "functions.rb" || stack[0].Line < 10*k+1 || stack[0].Line > 10*k+7 {
			return fmt.Sprintf("%s is at %s:%d", want, stack[0].File, stack[0].Line)
		}
		if n < len(list)-1 {
			if stack[0].Line != 10*k+4 {
				return fmt.Sprintf("%s calls at line %d", want, stack[0].Line)
			}
			p := pattern(k, qualified)
			if len(got) <= len(p) || !slices.Equal(got[1:1+len(p)], p) {
				return fmt.Sprintf("%s is followed by %v, want %v", want, got[1:min(len(got), 4)], p)
			}
			stack, got = stack[1+len(p):], got[1+len(p):]
			continue
		}
		p := pattern(k, qualified)
		for i, name := range got[1:] {
			if isFunction(name) && (!slices.Equal(got[1:1+i], p) || slices.ContainsFunc(got[i+2:], isFunction)) {
				return fmt.Sprintf("%s is followed by %v", want, got[1:])
			}
		}
	}
	return ""
}

func isFunction(name string) bool { return strings.HasPrefix(name, "f_") }

// Two threads record their calls through C. In one run a third thread moves all objects; in another the second thread
// is a ractor's.
func TestChainsAreTheProgramsOwnRecord(t *testing.T) {
	for version, ruby := range rubies(t) {
		for _, how := range []string{"spin", "compact", "ractor"} {
			if how == "ractor" && strings.Contains(version, "2.7") {
				continue
			}
			t.Run(version+"/"+how, func(t *testing.T) {
				cmd, line := launch(t, ruby, "testdata/chain.rb", how)
				var at [2]uint64
				if _, err := fmt.Sscan(line, &at[0], &at[1]); err != nil {
					t.Fatal(err)
				}
				rb := attach(t, cmd.Process.Pid, at[:]...)
				classes := qualified(rb)
				n, all, wrong, unmatched, freed, empty := 0, 0, 0, 0, 0, 0
				rb.Observe(t, samplesOf(100), func(tid int, s *observe.RawSample, stack observed.Stack) {
					which := at[1]
					if tid == cmd.Process.Pid {
						which = at[0]
					}
					list, ok := record(&s.Mem, which)
					if _, known := rb.Names.Anchor(tid, s.Regs.TLS); !ok || !known {
						return
					}
					n++
					switch {
					case stack.Health != managed.Matched:
						unmatched++
						return
					case len(stack.Frames) == 0:
						empty++
						return
					case stack.HasFreed():
						freed++
						return
					case tid != cmd.Process.Pid && !slices.ContainsFunc(stack.Frames, func(f observed.Frame) bool {
						return isFunction(plain(f.Function))
					}):
						return
					}
					all += len(stack.Frames)
					if msg := check(stack.Frames, list, classes); msg != "" {
						if wrong++; wrong < 5 {
							t.Errorf("%s\n%v\n%v", msg, list, stack.Names())
						}
					}
				})
				t.Logf("%s: %d looks, %d frames, %d wrong, %d unmatched, %d with a freed one, %d without", rb.Names.Name(), n, all,
					wrong, unmatched, freed, empty)
				if all == 0 {
					t.Errorf("%d of %d looks are not merged", unmatched, n)
				}
			})
		}
	}
}
