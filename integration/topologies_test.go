// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/show/chains"
	"prywalk/internal/testtargets"
	"prywalk/report"
)

// service is a chain of processes, each of which asks the next one, as web → app → database.
type service struct {
	languages []string   // c, python or go
	mutex     []bool     // of each process
	links     []string   // pipe, unix or tcp, to the next one
	phases    [][]string // of each process
}

func randomService(r *rand.Rand) (s service) {
	n := 2 + r.IntN(3)
	for i := range n {
		s.languages = append(s.languages, []string{"c", "python", "go"}[r.IntN(3)])
		s.mutex = append(s.mutex, i > 0 && s.languages[i] != "go" && r.IntN(2) == 0)
		phases := []string{}
		if i > 0 {
			for range 1 + r.IntN(2) {
				phases = append(phases, fmt.Sprintf("%s:%d", []string{"compute", "nap"}[r.IntN(2)], 200+r.IntN(300)))
			}
		}
		if i < n-1 {
			phases = slices.Insert(phases, r.IntN(len(phases)+1), "call")
			s.links = append(s.links, []string{"pipe", "unix", "tcp"}[r.IntN(3)])
		}
		s.phases = append(s.phases, phases)
	}
	return s
}

// linked returns the descriptors of two ends: for reading and for writing.
func linked(t *testing.T, kind string) (ends [2][2]*os.File) {
	t.Helper()
	switch kind {
	case "pipe":
		for i := range 2 {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			ends[i][0], ends[1-i][1] = r, w
		}
		return ends
	case "unix":
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, fd := range fds {
			f := os.NewFile(uintptr(fd), "unix")
			ends[i] = [2]*os.File{f, f}
		}
		return ends
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, connect := range []func() (net.Conn, error){func() (net.Conn, error) {
		return net.Dial("tcp", l.Addr().String())
	}, l.Accept} {
		c, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		f.Fd() // blocks from now on
		ends[i] = [2]*os.File{f, f}
	}
	return ends
}

func (s *service) start(t *testing.T, programs map[string][]string, dir string) (pids []int) {
	t.Helper()
	before := make([][2]*os.File, len(s.phases)) // ends of the links to the one before
	after := make([][2]*os.File, len(s.phases))
	for i, kind := range s.links {
		ends := linked(t, kind)
		after[i], before[i+1] = ends[0], ends[1]
	}
	for i := range s.phases {
		args := append(slices.Clone(programs[s.languages[i]]), filepath.Join(dir, fmt.Sprint(i)))
		var files []*os.File
		for _, f := range append(before[i][:], after[i][:]...) {
			if f == nil {
				args = append(args, "-1")
				continue
			}
			files = append(files, f)
			args = append(args, fmt.Sprint(2+len(files)))
		}
		if s.mutex[i] {
			args = append(args, "mutex")
		}
		cmd := exec.Command(args[0], append(args[1:], s.phases[i]...)...)
		cmd.ExtraFiles = files
		pids = append(pids, testtargets.Child(t, cmd).Process.Pid)
		for _, f := range files {
			f.Close()
		}
	}
	return pids
}

// written returns how long each phase of each process lasted from one time to another, ns, as the programs wrote.
func (s *service) written(dir string, from, to int64) map[string]int64 {
	out := map[string]int64{}
	for i := range s.phases {
		text, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		for line := range strings.Lines(string(text)) {
			var name string
			var begun, ended int64
			if n, _ := fmt.Sscan(line, &name, &begun, &ended); n == 3 {
				out[fmt.Sprint(i, " ", name)] += max(0, min(ended, to)-max(begun, from))
			}
		}
	}
	return out
}

// lastRequest returns when the first process had its last answer.
func lastRequest(dir string) (at int64) {
	text, _ := os.ReadFile(filepath.Join(dir, "0"))
	for line := range strings.Lines(string(text)) {
		var name string
		var begun int64
		_, _ = fmt.Sscan(line, &name, &begun, &at)
	}
	return at
}

// shortestService is some of a service's requests.
const shortestService = 4 * time.Second

// maxShareError is how much a share of the blocked time may differ from the program's own. What ticks cannot tell, a
// few of them at each phase's begin and end, becomes small in long recordings; a constant error stays, and fails the
// test at the deadline.
const maxShareError = 0.03

// The chains of recordings have no link that is not the service's, and the first process's blocked time ends, within
// three points, where the programs say that it did.
func TestChainsOfRecordingsAreThoseThatTheProgramsWrite(t *testing.T) {
	python := testtargets.NeedProgram(t, "python3")
	executable, err := exec.Command(python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	built := func(name, source string, command ...string) []string {
		return []string{testtargets.Compiled{Name: name, Sources: []string{source},
			Command: append(command, "-o", "OUT", source)}.Build(t)}
	}
	programs := map[string][]string{"c": built("stage-c", "testdata/stages/stage.c", "gcc", "-O1", "-pthread"),
		"go":     built("stage-go", "testdata/stages/stage.go", "go", "build"),
		"python": {strings.TrimSpace(string(executable)), "testdata/stages/stage.py"}}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := randomService(rand.New(rand.NewPCG(seed, 57)))
			checkService(t, &s, programs)
		})
	}
}

func checkService(t *testing.T, s *service, programs map[string][]string) {
	dir := scratch(t, nil)
	pids := s.start(t, programs, dir)
	index, list := map[int]int{}, []string{}
	for i, pid := range pids {
		index[pid] = i
		list = append(list, fmt.Sprint(pid))
	}
	r := startRecording(t, nil, "-p", strings.Join(list, ","))
	last := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v\n%s", *s, last)
		}
	})
	r.until("the shares of all ends are the programs'", func(p *profile.Profile) bool {
		from, to := p.TimeNanos, min(lastRequest(dir), p.TimeNanos+p.DurationNanos)
		if to-from < int64(shortestService) {
			return false
		}
		seen := endsOf(t, index, chainsOf(t, p, report.Options{To: time.Duration(to - from)}))
		written := s.written(dir, from, to)
		last = fmt.Sprintf("ends %v\nwritten %v", seen, written)
		return agree(seen, written)
	})
	r.finish()
}

func chainsOf(t *testing.T, p *profile.Profile, o report.Options) []chains.Chain {
	t.Helper()
	var out strings.Builder
	var got chains.Report
	if err := report.Chains(&out, p, true, o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	return got.Chains
}

// endsOf returns the blocked time of the first process by process and function of the end. No chain may have a link
// that is not the service's.
func endsOf(t *testing.T, index map[int]int, all []chains.Chain) map[string]int64 {
	t.Helper()
	seen := map[string]int64{}
	for i := range all {
		c := &all[i]
		for j := range c.Links {
			to, known := index[c.Links[j].PID]
			if from := index[c.Links[max(0, j-1)].PID]; !known || to-from > 1 || from-to > 1 {
				t.Fatalf("a false link: %+v", c)
			}
		}
		if c.End.Kind == chains.Deadlock {
			t.Fatalf("a false deadlock: %+v", c)
		}
		if index[c.Links[0].PID] != 0 || ownName(c.Links[0].Function) != "call" {
			continue // a thread of a run-time system
		}
		if seen["all"] += c.Blocked; c.End.Kind != chains.Unknown {
			seen[fmt.Sprint(index[c.End.PID], " ", ownName(c.End.Function))] += c.Blocked
		}
	}
	return seen
}

// ownName is a function's name without that of its package.
func ownName(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }

func agree(seen, written map[string]int64) bool {
	if seen["all"] == 0 || written["0 call"] == 0 {
		return false
	}
	for end, length := range seen {
		if _, is := written[end]; !is && end != "all" && float64(length) > maxShareError*float64(seen["all"]) {
			return false
		}
	}
	for end, length := range written {
		if strings.HasSuffix(end, "call") {
			continue
		}
		got, want := float64(seen[end])/float64(seen["all"]), float64(length)/float64(written["0 call"])
		if got-want > maxShareError || want-got > maxShareError {
			return false
		}
	}
	return true
}
