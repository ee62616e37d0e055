package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/code"
	"prywalk/internal/profile"
)

// written gives a recording with two samples that is written to a file, while signals are obeyed as record does.
// between is called in the write, before the names are looked up.
func written(t *testing.T, begin func(context.Context), between func(r *recording)) (file string, r *recording) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "prywalk.pb.gz")
	r = &recording{flags: &recordFlags{output: file}}
	r.setPath(1)
	r.images = code.NewImageCache(0)
	r.prepare(nil)
	t.Cleanup(r.close)
	ctx, stop := r.signals()
	defer stop()
	m := &profile.ModuleInfo{Start: 0x1000, End: 0x9000, Path: "/usr/bin/kvd"}
	for i := range uint64(2) {
		r.builder.Add(profile.Interval{PID: 1, TID: 1, State: "running", Samples: 1, Wall: 1e9, CPU: 1e9,
			End:   int64(i+1) * 1e9,
			Stack: r.builder.Intern([]profile.Loc{{Module: m, Addr: 0x1000 + i}, {Module: m, Addr: 0x1010}})})
	}
	begin(ctx)
	called := false
	r.builder.SetBetween(func() {
		if !called {
			called = true
			between(r)
		}
	})
	if err := r.write(); err != nil || !called {
		t.Fatalf("%v; it was interrupted: %v", err, called)
	}
	return file, r
}

// stderrIs makes a file the standard error until the test ends.
func stderrIs(t *testing.T, f *os.File) {
	t.Helper()
	old := os.Stderr
	os.Stderr = f
	t.Cleanup(func() { os.Stderr = old })
}

// interrupt sends this process SIGINT.
func interrupt(t *testing.T) {
	t.Helper()
	if err := unix.Kill(os.Getpid(), unix.SIGINT); err != nil {
		t.Fatal(err)
	}
}

// TestCtrlCWhileNamesAreLookedUpKeepsAllSamples: the first one writes without the names that are missing.
func TestCtrlCWhileNamesAreLookedUpKeepsAllSamples(t *testing.T) {
	tty := newTerminal(t, 80)
	stderrIs(t, tty.slave)
	file, r := written(t, func(context.Context) {}, func(r *recording) {
		says(t, &tty.out, "naming: 0 of up to 3 addresses (Ctrl-C writes without the others)")
		interrupt(t)
		<-r.giveUp
	})
	if text := tty.text(); !strings.HasSuffix(text,
		"\r\x1b[Kprywalk: 3 addresses have no name, as it was asked to write at once\n") {
		t.Errorf("%q", text)
	}
	if r.names.asked.Load() != 3 || !strings.HasPrefix(r.disk.String(), "the whole recording is in") {
		t.Errorf("%d addresses were asked for; %s", r.names.asked.Load(), &r.disk)
	}
	if p := shows(t, file); len(p.Sample) != 2 || len(p.Location) != 3 || len(p.Function) != 0 {
		t.Errorf("%d samples, %d locations, %d functions", len(p.Sample), len(p.Location), len(p.Function))
	}
}

// TestNamingAfterCtrlCSaysThatAnotherOneLeaves: a second one leaves at once, whatever is being done.
func TestNamingAfterCtrlCSaysThatAnotherOneLeaves(t *testing.T) {
	tty := newTerminal(t, 80)
	stderrIs(t, tty.slave)
	begin := func(ctx context.Context) {
		interrupt(t)
		<-ctx.Done()
	}
	written(t, begin, func(*recording) {
		says(t, &tty.out, "naming: 0 of up to 3 addresses (Ctrl-C leaves at once)")
	})
}

// TestCtrlCWhileAPipeIsFullKeepsTheRecording: nobody reads, and then somebody does.
func TestCtrlCWhileAPipeIsFullKeepsTheRecording(t *testing.T) {
	path := fifo(t)
	full, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	size, err := unix.FcntlInt(full.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	filler := make([]byte, size)
	if _, err := full.Write(filler); err != nil {
		t.Fatal(err)
	}
	tty := newTerminal(t, 80)
	p := prepared(t, t.TempDir(), nil, "record", "-d", "0.1", "-p", burner(t), "-o", path)
	p.Stderr = tty.slave
	p.begin(t)
	says(t, &tty.out, "naming: ") // it waits in write(2)
	send(t, p, unix.SIGINT)
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := r.Read(filler); n != size || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	full.Close()
	one(t, r)
	if code := p.code(t); code != exitOK || !strings.Contains(tty.text(), "\x1b[Kprywalk: ") {
		t.Errorf("exit code %d: %q", code, tty.out.String())
	}
}

// TestReadingABigReportIsTold: the line is gone before the report begins.
func TestReadingABigReportIsTold(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(smallRecording(t), "prywalk.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	path, tty := fifo(t), newTerminal(t, 120)
	p := prepared(t, t.TempDir(), nil, "report", path)
	p.Stdout, p.Stderr = tty.slave, tty.slave
	p.Env = append(p.Env, "PAGER=cat", "NO_COLOR=1", "TERM=xterm")
	p.begin(t)
	line := "\r\x1b[Kreading " + path + " (Ctrl-C ends)"
	says(t, &tty.out, line) // nothing is written yet: it cannot go on
	if err := os.WriteFile(path, text, 0); err != nil {
		t.Fatal(err)
	}
	code, out := p.code(t), tty.text()
	if code != exitOK || !strings.HasPrefix(strings.ReplaceAll(out, line, ""), "\r\x1b[Kkvd (pid 4711)") {
		t.Errorf("exit code %d: %q", code, out)
	}
}

// TestCtrlCWhileAReportIsReadLeavesTheOldOne: and nothing beside it.
func TestCtrlCWhileAReportIsReadLeavesTheOldOne(t *testing.T) {
	dir, path, tty := t.TempDir(), fifo(t), newTerminal(t, 120)
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := prepared(t, dir, nil, "report", "--html", page, path)
	p.Stderr = tty.slave
	p.begin(t)
	says(t, &tty.out, "reading ")
	send(t, p, unix.SIGINT)
	code := p.code(t)
	list, _ := os.ReadDir(dir)
	if now, _ := os.ReadFile(page); code != 128+int(unix.SIGINT) || !bytes.Equal(now, []byte("old")) || len(list) != 1 {
		t.Errorf("exit code %d, %q, %v", code, now, list)
	}
}

// TestWhatIsQuickIsNotTold: a line takes a second, and a text to say.
func TestWhatIsQuickIsNotTold(t *testing.T) {
	tty := newTerminal(t, 80)
	stderrIs(t, tty.slave)
	asked := make(chan struct{})
	var once sync.Once
	begun := time.Now()
	p := startSlow(false, func() string {
		once.Do(func() { close(asked) })
		return ""
	})
	<-asked
	if took := time.Since(begun); took < slowAfter {
		t.Errorf("it is told after %v", took)
	}
	p.stop()
	p.stop() // it may be called again
	startSlow(true, func() string { t.Error("it is told, though it was to be quiet"); return "" }).stop()
	if text := tty.text(); text != "" {
		t.Errorf("%q", text)
	}
}
