// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

const hugePages = 64

func haveHugePages(t *testing.T) {
	t.Helper()
	const file = "/proc/sys/vm/nr_hugepages"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip("the kernel has no huge pages: ", err)
	}
	was := strings.TrimSpace(string(text))
	n, _ := strconv.Atoi(was)
	if err := os.WriteFile(file, []byte(strconv.Itoa(n+hugePages)), 0); err != nil {
		t.Skip("no huge pages can be had: ", err)
	}
	t.Cleanup(func() { _ = os.WriteFile(file, []byte(was), 0) })
}

// startGivesUp starts a target that makes calls of a kind which give up when they are interrupted.
func startGivesUp(t *testing.T, call string) *target {
	t.Helper()
	needRoot(t)
	if call == "hugetlb" {
		haveHugePages(t)
	}
	dir, err := os.MkdirTemp(work, "gives-up-")
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "gives_up", call, dir)
	for _, line := range p.lines {
		if e, ok := strings.CutPrefix(line, "impossible "); ok {
			t.Skipf("%s cannot be had on this machine: error %s", call, e)
		}
	}
	return p
}

func cpuUnder(p *pprof.Profile, function string) time.Duration {
	var sum int64
	for _, s := range p.Sample {
		if inStack(s, function) {
			sum += s.Value[len(s.Value)-1]
		}
	}
	return time.Duration(sum)
}

func inStack(s *pprof.Sample, function string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil && line.Function.Name == function {
				return true
			}
		}
	}
	return false
}

// TestCallsThatGiveUpSucceedUnderTheLadder: one is loading a program for the kernel's virtual machine, whose
// checking takes far longer than it is from tick to tick. Others are setting huge pages aside, running a virtual
// machine, and asking a file system in user space that gives up as requested.
func TestCallsThatGiveUpSucceedUnderTheLadder(t *testing.T) {
	for _, c := range []struct {
		call  string
		calls int64
	}{{"bpf", 3}, {"hugetlb", 100}, {"kvm", 40}, {"fuse-stat", 3000}} {
		for _, rate := range []string{"99", "1000"} {
			t.Run(c.call+"/"+rate, func(t *testing.T) {
				p := startGivesUp(t, c.call)
				r := record(t, p.pid, "-F", rate)
				r.awaitSamples(p.pid)
				p.works(c.calls)
				s := r.stop()
				saw := p.verdict()
				t.Logf("the target saw %v; %+v", saw, s)
				if saw["eintr"]+saw["eagain"]+saw["short"]+saw["other"] != 0 || s.Broken != 0 {
					t.Errorf("the target saw %v, %d calls were counted as broken", saw, s.Broken)
				}
				if s.Restarted == 0 && c.call != "fuse-stat" {
					t.Errorf("no call was begun again: the test shows nothing: %+v", s)
				}
				if s.failures() != s.Failed["timeout"]+s.Failed["in-call"] {
					t.Errorf("failed: %v", s.Failed)
				}
				if c.call != "bpf" {
					return
				}
				// The thread computes between two loads, for a sixth of the time that a load takes.
				prof := r.profile()
				load, compute := cpuUnder(prof, "load"), cpuUnder(prof, "compute")
				if compute == 0 || load < compute {
					t.Errorf("%v of processor time in calls, %v between them", load, compute)
				}
			})
		}
	}
}

// mostHarm is how often a look can harm a thread in a recording of some length. After each time it is left alone,
// first for a tenth of a second, then for twice as long each time.
func mostHarm(seconds float64) int64 { return int64(bits.Len64(uint64(seconds*10)+1)) + 1 }

// TestBrokenCallsThatCannotBeRepairedAreRareAndCounted: directories that a file system in user space gives up to make,
// and those that a supervisor is asked twice to make. Before, there was harm at one in 20 freezes of the one.
func TestBrokenCallsThatCannotBeRepairedAreRareAndCounted(t *testing.T) {
	for _, call := range []string{"fuse-mkdir", "notify"} {
		for _, rung := range rungs {
			t.Run(call+"/"+rung, func(t *testing.T) {
				p := startGivesUp(t, call)
				r := record(t, p.pid, "--rung", rung)
				r.awaitSamples(p.pid)
				p.works(5000)
				s := r.stop()
				saw := p.verdict()
				t.Logf("the target saw %v; %+v", saw, s)
				if saw["eintr"] > s.Broken || saw["twice"] > s.Told || saw["eagain"]+saw["short"] != 0 || saw["other"] > s.Told {
					t.Errorf("the target saw %v, counted were %d broken calls and %d told twice", saw, s.Broken, s.Told)
				}
				harm := s.Broken + s.Told
				if rung == "ladder" && harm > mostHarm(s.Seconds) {
					t.Errorf("%d calls harmed in %.1f s", harm, s.Seconds)
				}
				if rung == "freeze" && harm == 0 {
					t.Error("no call was harmed: the test shows nothing")
				}
				for text, n := range map[string]int64{
					"interrupted by a stop (mkdir": s.Broken, "repeated (mkdirat": s.Told,
				} {
					want := n > 0
					if got := strings.Contains(r.stderr.String(), text); got != want {
						t.Errorf("the closing line says %q: %v, of %d: %s", text, got, n, r.stderr.String())
					}
				}
			})
		}
	}
}

func TestReadOnlySamplesLetCallsThatGiveUpSucceedWhenTheyAreTriedAgain(t *testing.T) {
	p := startGivesUp(t, "bpf")
	r := record(t, p.pid, "-F", "99", "--read-only")
	r.awaitSamples(p.pid)
	p.works(3)
	s := r.stop()
	saw := p.verdict()
	t.Logf("the target saw %v; %+v", saw, s)
	if saw["other"] != 0 || saw["eagain"] == 0 || saw["eagain"] > s.Broken ||
		s.Broken > saw["calls"]+1+mostHarm(s.Seconds) {
		t.Errorf("the target saw %v, counted were %d broken calls", saw, s.Broken)
	}
	if want := fmt.Sprintf("%d system call", s.Broken); !strings.Contains(r.stderr.String(), want) {
		t.Errorf("the closing line does not say %q: %s", want, r.stderr.String())
	}
}

func TestNoMountOfTheTestsIsLeft(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), filepath.Join(work, "gives-up-")) {
		t.Errorf("%s", mounts)
	}
}
