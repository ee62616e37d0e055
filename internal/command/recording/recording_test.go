// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/account/runstats"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/launch"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
)

// written handles signals as record does. between is called in the write, before the names are looked up.
func written(t *testing.T, begin func(context.Context), between func(r *recording)) (file string, r *recording) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "prywalk.pb.gz")
	r = newRecording(Options{Output: file, Overwrite: true})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	t.Cleanup(r.close)
	ctx, stop := r.signals.handle(&r.output.state)
	defer stop()
	called := false
	m := namedWith(r, func() {
		if !called {
			called = true
			between(r)
		}
	})
	for i := range uint64(2) {
		r.builder.Add(profile.Interval{PID: 1, TID: 1, State: "running", Samples: 1, Wall: 1e9, CPU: 1e9,
			End:   int64(i+1) * 1e9,
			Stack: r.builder.Intern([]profile.Loc{{Module: m, Addr: 0x1000 + i}, {Module: m, Addr: 0x1010}})})
	}
	begin(ctx)
	if err := r.write(); err != nil || !called {
		t.Fatalf("%v; it was interrupted: %v", err, called)
	}
	return file, r
}

// namedWith returns code without a file. A write calls f before it asks for a name of it.
func namedWith(r *recording, f func()) *profile.ModuleInfo {
	r.fileNames.others = func(_ *profile.ModuleInfo, addr uint64) []profile.Frame {
		f()
		return r.fileNames.resolver.Resolve(&profile.ModuleInfo{}, addr)
	}
	m := &profile.ModuleInfo{Start: 0x1000, End: 0x9000, Path: "/usr/bin/kvd"}
	m.Origin.Module = &frames.Module{Origin: &loadedcode.Mapping{}}
	return m
}

func interrupt(t *testing.T) {
	t.Helper()
	if err := unix.Kill(os.Getpid(), unix.SIGINT); err != nil {
		t.Fatal(err)
	}
}

func TestCtrlCWhileNamesAreLookedUpKeepsAllSamples(t *testing.T) {
	t.Setenv("TERM", "xterm")
	tty := testtargets.NewTerminal(t, 80)
	testtargets.StderrIs(t, tty.Slave)
	file, r := written(t, func(context.Context) {}, func(r *recording) {
		testtargets.Says(t, &tty.Out, "looking up symbols: 0 of up to 3 addresses (Ctrl-C skips the rest)")
		interrupt(t)
		bounded.Receive(t, "names are skipped after the signal", r.signals.skipNames)
	})
	const skipped = "3 addresses without a name: symbol lookup was skipped; prywalk report --symbols FILE "
	if text := tty.Text(); !strings.HasSuffix(text, "\r\x1b[K") || !strings.HasPrefix(r.lacksNames()[0], skipped) {
		t.Errorf("%q, then %q", text, r.lacksNames())
	}
	if r.fileNames.lookedUp.Load() != 3 || !strings.HasPrefix(r.output.state.String(), "the whole recording is in") {
		t.Errorf("%d addresses were asked for; %s", r.fileNames.lookedUp.Load(), &r.output.state)
	}
	p := testtargets.ReadRecording(t, file)
	if !slices.ContainsFunc(p.Comments, func(c string) bool { return strings.HasPrefix(c, skipped) }) {
		t.Errorf("the recording does not say so: %q", p.Comments)
	}
	if len(p.Sample) != 2 || len(p.Location) != 3 || len(p.Function) != 0 {
		t.Errorf("%d samples, %d locations, %d functions", len(p.Sample), len(p.Location), len(p.Function))
	}
}

func TestNamingAfterCtrlCSaysThatAnotherOneLeaves(t *testing.T) {
	t.Setenv("TERM", "xterm")
	tty := testtargets.NewTerminal(t, 80)
	testtargets.StderrIs(t, tty.Slave)
	begin := func(ctx context.Context) {
		interrupt(t)
		bounded.Receive(t, "the signal ends the recording", ctx.Done())
	}
	written(t, begin, func(*recording) {
		testtargets.Says(t, &tty.Out, "looking up symbols: 0 of up to 3 addresses (Ctrl-C aborts)")
	})
}

func TestASecondCtrlCLeaves(t *testing.T) {
	for _, first := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
		var w endRequests
		begun := time.Unix(100, 0)
		w.classify(first, begun)
		w.classify(unix.SIGINT, begun.Add(20*time.Millisecond))
		if _, _, leaves := w.classify(unix.SIGINT, begun.Add(20*time.Millisecond+sameInterruptTime)); !leaves {
			t.Errorf("after %v and Ctrl-C another Ctrl-C does not leave", first)
		}
	}
}

func TestSignalsWithinASecondAreOne(t *testing.T) {
	var w endRequests
	at := func(sig syscall.Signal, after time.Duration, first, again, leave bool) {
		t.Helper()
		f, a, l := w.classify(sig, time.Unix(100, 0).Add(after))
		if f != first || a != again || l != leave {
			t.Errorf("%v after %v: first %v, again %v, leave %v", sig, after, f, a, l)
		}
	}
	at(unix.SIGHUP, 0, true, false, false)
	at(unix.SIGHUP, 20*time.Millisecond, false, true, false)
	at(unix.SIGTERM, 30*time.Millisecond, false, false, false)
	at(unix.SIGINT, sameRequestTime-1, false, false, false)
	at(unix.SIGINT, sameRequestTime, false, false, true)
}

func TestOnlyFilesThatCanBeReplacedHaveCheckpoints(t *testing.T) {
	for path, want := range map[string]bool{
		filepath.Join(t.TempDir(), "new"): true, testtargets.Fifo(t): false, "/dev/null": false, "-": false,
		"/dev/stdout": false, "/dev/stderr": false,
	} {
		r := newRecording(Options{Output: path, Overwrite: true})
		r.output.setPath(&r.options, 1)
		r.prepare(nil)
		if got := r.samplerOpts.CheckpointEvery > 0; got != want {
			t.Errorf("%s: checkpoints: %v", path, got)
		}
		r.checkpoint(atOnce{})
	}
}

func TestPercentPInAnOutputIsTheFirstProcess(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	r := newRecording(Options{PIDs: []int{pid}, Output: filepath.Join(t.TempDir(), "r-%p"),
		Sampler: target.SamplingOptions{Freq: 99}})
	err := r.run(func(context.Context, []*loadedcode.Process) error { return nil })
	if want := fmt.Sprintf("r-%d", pid); err != nil || filepath.Base(r.output.path) != want {
		t.Errorf("%v: the output is %s, want %s", err, r.output.path, want)
	}
}

func TestSelectedProcessThatCannotBeOpenedCountsOnce(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zombie.Wait() }()
	pids := []int{pid, zombie.Process.Pid}
	testtargets.Eventually(t, "the second process has ended", func() bool { return !isAlive(pids[1]) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	searches := 0
	selected := func() []int {
		if searches++; searches == 3 {
			cancel()
		}
		return pids
	}
	r := newRecording(Options{PIDs: pids, ByRule: true, Output: filepath.Join(t.TempDir(), "r.pb.gz"),
		Sampler: target.SamplingOptions{Freq: 99, Select: selected}})
	err := r.run(func(context.Context, []*loadedcode.Process) error { return r.sample(ctx) })
	if n := r.stats.Refused; err != nil || len(n) != 1 || n["zombie"] != 1 {
		t.Errorf("%v: refused %v, want 1 zombie", err, n)
	}
}

// The limit of open files cannot be raised again: the test runs in a process of its own.
func TestProcessesThatLackDescriptorsAreCountedInTheError(t *testing.T) {
	const ownProcess = "PRYWALK_TEST_OWN_PROCESS"
	if os.Getenv(ownProcess) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), ownProcess+"=1")
		if out, err := bounded.AllOutput(cmd); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	lowest, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(lowest)
	none := unix.Rlimit{Cur: uint64(lowest), Max: uint64(lowest)}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err = newRecording(Options{ByRule: true}).open([]int{os.Getpid(), os.Getppid()})
	if err == nil || !strings.Contains(err.Error(), "none of 2 selected processes could be read") {
		t.Errorf("%v", err)
	}
}

func TestTopOnceIsNoFailureWhenItsReaderExits(t *testing.T) {
	l := newTopRun(Options{}, TopOptions{Once: true})
	l.recording.stats.Samples = 1
	if err := l.finish(&os.PathError{Op: "write", Path: "/dev/stdout", Err: unix.EPIPE}); err != nil {
		t.Error(err)
	}
}

func TestStatsThatCannotBeWrittenAreReportedBeforeTheRun(t *testing.T) {
	stats := filepath.Join(t.TempDir(), "missing", "stats.json")
	for _, path := range []string{"-", "/dev/null"} {
		err := newRecording(Options{Output: path, Stats: stats}).setOutput(1)
		if err == nil || !strings.Contains(err.Error(), "give another place with --stats") {
			t.Errorf("with -o %s: %v", path, err)
		}
	}
}

func TestTheRecordingOnDiskIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	var d outputState
	says := func(text string) {
		t.Helper()
		if s := d.String(); !strings.Contains(s, text) {
			t.Errorf("%q; %q is wanted", s, text)
		}
	}
	d.setPath(path)
	says("nothing was written")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says("is an older file")
	d.recordWrite(false)
	says("the rest is lost")
	d.recordWrite(true)
	says("the whole recording is in " + path)
	d.setPath("-")
	says("standard output")
}

func TestAHangInTheExaminationIsNotForgotten(t *testing.T) {
	r := newRecording(Options{})
	hangs := fmt.Errorf("%w in read", selfhang.Err)
	more := false
	err := r.examine(func() error { return nil }, func() error { return hangs }, func() error { more = true; return nil })
	if !errors.Is(err, selfhang.Err) || !r.hung || more {
		t.Errorf("error %v, hung %v, goes on: %v; want the error, hung, and an end", err, r.hung, more)
	}
}

func TestAHangInTheWriteNamesWhatIsWritten(t *testing.T) {
	r := newRecording(Options{Output: filepath.Join(t.TempDir(), "r.pb.gz")})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	m := namedWith(r, func() {
		defer close(ended)
		_, _ = unix.Read(pipe[0], make([]byte, 1))
	})
	r.builder.Add(profile.Interval{PID: 1, TID: 1, State: "running", Samples: 1, CPU: 1,
		Stack: r.builder.Intern([]profile.Loc{{Module: m, Addr: 0x1000}})})
	err := r.writeWatched()
	if _, failed := unix.Write(pipe[1], []byte("x")); failed != nil {
		t.Fatal(failed)
	}
	bounded.Receive(t, "the name is read", ended)
	if !errors.Is(err, selfhang.Err) || !strings.HasSuffix(err.Error(), "; nothing was written") {
		t.Errorf("got %v, want a hang, and that nothing was written", err)
	}
	testtargets.Eventually(t, "the recording is written after all", func() bool {
		return strings.HasPrefix(r.output.state.String(), "the whole recording")
	})
}

func TestARecordingThatAHangKeepsNamesWhatIsWritten(t *testing.T) {
	r := newRecording(Options{Output: filepath.Join(t.TempDir(), "r.pb.gz")})
	r.output.setPath(&r.options, 1)
	hang := fmt.Errorf("%w; %w", selfhang.Err, sampler.ErrBuilderInUse)
	err := r.writeHung(hang)
	if !errors.Is(err, sampler.ErrBuilderInUse) || err.Error() != hang.Error()+"; nothing was written" {
		t.Errorf("%v, want %v; nothing was written", err, hang)
	}
}

func TestTopEndsWhileANameCannotBeRead(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = unix.Read(pipe[0], make([]byte, 1))
	}()
	r := newTopRun(Options{}, TopOptions{})
	r.awaitBackground(func() { bounded.Received(ended) })
	if _, err := unix.Write(pipe[1], []byte("x")); err != nil {
		t.Fatal(err)
	}
	bounded.Receive(t, "the name is read", ended)
	if !r.recording.hung || !errors.Is(r.failure, selfhang.Err) {
		t.Errorf("hung %v, failure %v; want a hang", r.recording.hung, r.failure)
	}
}

func TestAHangOfTopWithoutARecordingIsTheOnlyError(t *testing.T) {
	r := newTopRun(Options{}, TopOptions{})
	r.recording.images = loadedcode.NewImageCache(0)
	r.recording.prepare(nil)
	defer r.recording.close()
	r.recording.hung, r.failure = true, fmt.Errorf("%w in read", selfhang.Err)
	err := r.finish(nil)
	if r.recording.hung = false; err == nil || err.Error() != r.failure.Error() {
		t.Errorf("%v, want %v", err, r.failure)
	}
}

// The command's first executable mapping has no provider of its pages (userfaultfd(2)).
func TestAHangWhileACommandIsOpenedEndsTheRecording(t *testing.T) {
	testtargets.NeedRoot(t, "have userfaults raised by another process's reads")
	exe, err := testtargets.Compile("lazy.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "code")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	r := newRecording(Options{})
	ended := make(chan error, 1)
	go func() { ended <- r.recordLaunched(t.Context(), &launch.Launched{PID: cmd.Process.Pid}) }()
	select {
	case err = <-ended:
	case <-time.After(testtargets.Patience / 4):
		t.Fatal("the recording waits for the read")
	}
	if !errors.Is(err, selfhang.Err) || !r.hung {
		t.Errorf("error %v, hung %v; want a read that hangs, and hung", err, r.hung)
	}
}

func TestAFailedLastWriteStatesWhatIsOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRecording(Options{Output: filepath.Join(dir, "r"), Overwrite: true})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	defer r.close()
	for _, c := range []struct {
		checkpoint bool
		want       string
	}{{false, "; nothing was written"}, {true, "has the recording until"}} {
		if c.checkpoint {
			if err := r.save(false); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(dir, dir+"-moved"); err != nil {
			t.Fatal(err)
		}
		if err := r.write(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("after a checkpoint (%v): %v, want %q", c.checkpoint, err, c.want)
		}
		if err := os.Rename(dir+"-moved", dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARecordingThatCannotBeKeptIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	const earlier = "\x1f\x8bearlier"
	if err := errors.Join(os.WriteFile(path, []byte(earlier), 0o600), os.Mkdir(path+".old", 0o700)); err != nil {
		t.Fatal(err)
	}
	r := newRecording(Options{Output: path})
	const why = "cannot keep "
	if err := r.setOutput(1); err == nil || !strings.HasPrefix(err.Error(), why) {
		t.Errorf("before the recording: %v", err)
	}
	if err := newRecording(Options{Output: path, Overwrite: true}).setOutput(1); err != nil {
		t.Errorf("a file to be overwritten: %v", err)
	}
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	defer r.close()
	for range 2 { // the second write tries again
		err := r.write()
		if err == nil || !strings.HasPrefix(err.Error(), why) || !strings.HasSuffix(err.Error(), "is an older file") {
			t.Errorf("with a directory NAME.old: %v", err)
		}
		if b, err := os.ReadFile(path); string(b) != earlier {
			t.Fatalf("the earlier recording is lost: %q, %v", b, err)
		}
	}
	if err := errors.Join(os.Remove(path+".old"), r.write()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path + ".old"); string(b) != earlier {
		t.Errorf("NAME.old has %q, %v", b, err)
	}
}

func TestStatsAreWrittenThoughTheRecordingIsNot(t *testing.T) {
	dir := t.TempDir()
	r := newRecording(Options{Output: filepath.Join(dir, "missing", "r"), Stats: filepath.Join(dir, "stats"),
		Overwrite: true})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	defer r.close()
	if err := r.write(); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "--stats") {
		t.Errorf("the recording: %v", err)
	}
	if b, err := os.ReadFile(r.options.Stats); err != nil || !json.Valid(b) {
		t.Errorf("the statistics: %v, %q", err, b)
	}
}

// stderrFile returns what the test has written to standard error.
func stderrFile(t *testing.T) (text func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	testtargets.StderrIs(t, f)
	return func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// longRotation is a recording in parts with more samples than stay in memory.
func longRotation(t *testing.T) (r *recording, add func()) {
	t.Helper()
	r = newRecording(Options{Output: filepath.Join(t.TempDir(), "r"), Rotate: time.Hour,
		Sampler: target.SamplingOptions{Freq: 99}})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	t.Cleanup(r.close)
	stack := r.builder.Intern(nil)
	return r, func() {
		for i := range int64(500_000) {
			r.builder.Add(profile.Interval{Stack: stack, PID: 1, TID: 1, End: i * 1e13, Wall: 1e15, CPU: 1e15})
		}
		r.output.rotation.due.Store(true)
	}
}

func TestAFullTemporaryDirectoryIsReportedOnce(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	stderr := stderrFile(t)
	r, add := longRotation(t)
	for range 2 {
		add()
		r.rotateIfDue()
	}
	const want = "prywalk: cannot write a temporary file in %s: no such file or directory; the recording's older " +
		"samples stay in memory: for the next one free some space, or choose another directory with TMPDIR\n"
	if got := stderr(); got != fmt.Sprintf(want, missing) || r.output.rotation.written != 2 {
		t.Errorf("%d parts; %q", r.output.rotation.written, got)
	}
}

func TestSamplesThatCannotBeReadBackAreReported(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	stderr := stderrFile(t)
	r, add := longRotation(t)
	add()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if file, err := os.Readlink(fd); err == nil && strings.HasPrefix(file, temporary) {
			if err := os.Truncate(fd, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.rotateIfDue()
	const want = "prywalk: the recording lacks intervals that could not be read from a temporary file: "
	if got := stderr(); !strings.HasPrefix(got, want) || r.output.rotation.written != 1 {
		t.Errorf("%d parts; %q", r.output.rotation.written, got)
	}
}

func TestTheProgressLineCountsSamplesOfBothEngines(t *testing.T) {
	g := sampler.Progress{Stacks: 50, Complete: 49}
	g.Tracer.Observations, g.Tracer.Sampled, g.Tracer.Ticks, g.Tracer.Threads, g.Tracer.Failed = 20, 30, 198, 2, 1
	const want = "2.0 s  99/s  50 samples  2 threads  98.0% complete  1 failed  (Ctrl-C ends)"
	if got := progressText(g, 2); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// notesOf writes a recording and what is said at its end.
func notesOf(t *testing.T, set func(r *recording)) (said string, comments []string) {
	t.Helper()
	tty := testtargets.NewTerminal(t, 200)
	testtargets.StderrIs(t, tty.Slave)
	r := newRecording(Options{Output: filepath.Join(t.TempDir(), "r.pb.gz"), Overwrite: true})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	t.Cleanup(r.close)
	r.stats.Samples = 1
	set(r)
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	if err := r.reportResult(); err != nil {
		t.Fatal(err)
	}
	testtargets.Says(t, &tty.Out, r.output.path)
	return tty.Text(), testtargets.ReadRecording(t, r.output.path).Comments
}

// Each is worth a note; the first two are shown, and the recording has all.
func TestARecordingEndsWithAtMostTwoNotes(t *testing.T) {
	notes := []string{" lost (buffers ", "child processes used 3.0 s", "no names of the kernel's"}
	said, comments := notesOf(t, func(r *recording) {
		r.stats.LostSamples, r.children = 3, runstats.UnrecordedChildren(0, 3)
		r.fileNames.lacksKernel(notes[2])
	})
	for i, note := range notes {
		if strings.Contains(said, note) != (i < 2) || !strings.Contains(strings.Join(comments, "\n"), note) {
			t.Errorf("%q: %s; the recording has %q", note, said, comments)
		}
	}
}

func TestWhatRefusesSamplesIsSaidOnce(t *testing.T) {
	said, _ := notesOf(t, func(r *recording) {
		r.stats.Attempted, r.stats.Failed = 5, map[string]int64{"traced": 5}
		r.stats.ProfiledCPU, r.stats.UnobservedCPU, r.stats.Tracer = 1, 1, "another tracer was attached"
		r.notStopped = errors.New(r.stats.Tracer)
	})
	if strings.Count(said, "another ") != 1 || !strings.Contains(said, "% of CPU time has no function\n") {
		t.Errorf("another tracer is to be named once, and the share of time without a function: %q", said)
	}
}
