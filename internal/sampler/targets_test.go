package sampler

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/profile"
	"prywalk/internal/symbols"
	"prywalk/internal/target"
)

// program compiles testdata/threads.c once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "prywalk-sampler-")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "threads")
	out, err := exec.Command("cc", "-O1", "-pthread", "-o", exe, "testdata/threads.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return exe, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if exe, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(exe))
	}
	os.Exit(code)
}

// running is a target.
type running struct {
	pid   int
	lines *bufio.Scanner
}

// start starts the program and waits until it is ready.
func start(t testing.TB, args ...string) *running {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	r := &running{pid: cmd.Process.Pid, lines: bufio.NewScanner(out)}
	r.expect(t, "ready")
	return r
}

// expect waits for a line of the target.
func (r *running) expect(t testing.TB, line string) {
	t.Helper()
	if !r.lines.Scan() || r.lines.Text() != line {
		t.Fatalf("the target says %q, want %q", r.lines.Text(), line)
	}
}

// signal sends the target a signal.
func (r *running) signal(t testing.TB, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(r.pid, sig); err != nil {
		t.Fatal(err)
	}
}

// state gives the letter of a thread's state.
func state(tid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// recorded is what a run gave.
type recorded struct {
	Stats
	*pprof.Profile
	begun, ended time.Time
	period       time.Duration
	err          error
}

// names resolves addresses for the recording.
type names struct{ *symbols.Namer }

func (n names) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	ref, ok := m.Data.(ModuleRef)
	if !ok {
		return nil
	}
	var out []profile.Frame
	for _, f := range n.Frames(ref.Module, ref.PID, addr, nil) {
		out = append(out, profile.Frame(f))
	}
	return out
}

// record samples processes for some time, or until they end.
func record(t testing.TB, o Options, d time.Duration, during func(*Sampler), pids ...int) *recorded {
	t.Helper()
	if o.Freq == 0 {
		o.Freq = 99
	}
	images := target.NewImageCache(0)
	defer images.Close()
	var procs []*target.Process
	for _, pid := range pids {
		p, err := images.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		procs = append(procs, p)
	}
	r := &recorded{begun: time.Now(), period: time.Duration(1e9 / o.Freq)}
	b := profile.NewBuilder(profile.Meta{Start: r.begun, Period: r.period})
	s := New(o, b, images, procs)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	if during != nil {
		wg.Go(func() { during(s) })
	}
	r.Stats, r.err = s.Run(ctx)
	r.ended = time.Now()
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	n := names{symbols.NewNamer()}
	defer n.Close()
	var file bytes.Buffer
	if err := b.Write(&file, n); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.Profile, err = pprof.ParseData(file.Bytes()); err != nil {
		t.Fatal(err)
	}
	if r.err == nil {
		r.check(t)
	}
	return r
}

// check holds what is so of every recording.
func (r *recorded) check(t testing.TB) {
	t.Helper()
	if got := r.Frozen + r.Peeked + r.Reused + sum(r.Failed); got != r.Attempted {
		t.Errorf("attempted %d = %d frozen + %d peeked + %d reused + %v", r.Attempted, r.Frozen, r.Peeked, r.Reused, r.Failed)
	}
	if err := r.CheckValid(); err != nil {
		t.Error(err)
	}
	var samples, cpu int64
	for _, s := range r.Sample {
		samples += s.Value[0]
		cpu += s.Value[3]
		r.checkSample(t, s)
	}
	if samples != r.Samples || samples != r.Frozen+r.Peeked+r.Reused+r.Inferred {
		t.Errorf("%d samples in the profile, %d counted, of %d frozen + %d peeked + %d reused + %d inferred", samples, r.Samples, r.Frozen, r.Peeked, r.Reused, r.Inferred)
	}
	if got := float64(cpu) / 1e9; got < r.ProfiledCPU-1e-6 || got > r.ProfiledCPU+1e-6 {
		t.Errorf("%v s of CPU in the profile, %v counted", got, r.ProfiledCPU)
	}
}

func (r *recorded) checkSample(t testing.TB, s *pprof.Sample) {
	t.Helper()
	wall, runq, cpu := s.Value[1], s.Value[2], s.Value[3]
	if s.Value[0] < 0 || runq < 0 || cpu < 0 || wall < runq+cpu {
		t.Errorf("values %v of %v", s.Value, s.Label)
	}
	end := s.NumLabel["end_timestamp_ns"][0]
	if end > r.ended.UnixNano() {
		t.Errorf("an interval ends %v after the recording: %v", time.Duration(end-r.ended.UnixNano()), stack(s))
	}
	if early := r.begun.UnixNano() - (end - wall); early > int64(max(r.period, 10*time.Millisecond)) {
		t.Errorf("an interval begins %v before the recording: %v %v", time.Duration(early), s.Value, stack(s))
	}
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// stack gives the names of a sample's functions, innermost first.
func stack(s *pprof.Sample) []string {
	var out []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			out = append(out, line.Function.Name)
		}
	}
	return out
}

// label gives a label of a sample.
func label(s *pprof.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// sumOf adds up a column of the samples that a condition holds for.
func (r *recorded) sumOf(column int, holds func(*pprof.Sample) bool) (n int64) {
	for _, s := range r.Sample {
		if holds(s) {
			n += s.Value[column]
		}
	}
	return n
}

// in reports whether a function is on the stack.
func in(function string) func(*pprof.Sample) bool {
	return func(s *pprof.Sample) bool {
		for _, f := range stack(s) {
			if f == function {
				return true
			}
		}
		return false
	}
}
