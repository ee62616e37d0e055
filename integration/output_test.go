// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{User: ordinary()})
	pid := strconv.Itoa(target.PID)
	for _, file := range []string{"/no/such/directory/r.pb.gz", "/proc/r.pb.gz", "/"} {
		c := command{args: []string{"record", "-d", "1", "-p", pid, "-o", file}, user: ordinary()}
		r := c.run(t)
		if r.code != 1 && r.code != 3 {
			t.Errorf("-o %s: exit code %d, want 1 or 3", file, r.code)
		}
		r.oneLine(t, file)
		c.args = []string{"record", "-o", file, "--", "true"}
		c.run(t).must(t, 125).oneLine(t, file)
	}
}

func smallDisk(t *testing.T) string {
	t.Helper()
	needRoot(t, "mount a small file system")
	dir := scratch(t, nil)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Log(err)
		testtargets.Need(t, false, "the right to mount", "a container with CAP_SYS_ADMIN")
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestFullDiskIsAnErrorAndLeavesTheLastFile(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	target := testtargets.Run(t, "c", testtargets.Options{})
	file := filepath.Join(dir, "r.pb.gz")
	if err := os.WriteFile(file, []byte("the last recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 12<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	r := prywalk(t, "record", "-d", "2", "-F", "999", "-p", strconv.Itoa(target.PID), "-o", file).must(t, 1)
	if !strings.Contains(r.stderr, "no space left") || !strings.Contains(r.stderr, file) {
		t.Errorf("no \"no space left\" with the file's name: %s", clip(r.stderr))
	}
	if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, []byte("the last recording")) {
		t.Errorf("the earlier file was changed: %d bytes, %v", len(text), err)
	}
	if want := "; this recording was not written; " + file + " is an older file"; !strings.Contains(r.stderr, want) {
		t.Errorf("no %q: %s", want, clip(r.stderr))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("files are %v, want the earlier ones only", left)
	}
}

func TestFileSizeLimitIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	// SIGXFSZ ends a Go program with a stack trace unless it handles the signal.
	r := command{exe: "/bin/sh", args: []string{"-c", `ulimit -f 1; exec "$0" "$@"`, binary, "record", "-d", "2", "-F",
		"999", "-p", strconv.Itoa(target.PID), "-o", "r.pb.gz"}}.run(t).must(t, 1)
	if !strings.Contains(r.stderr, "file too large") || strings.Contains(r.stderr, "goroutine ") {
		t.Errorf("want \"file too large\" and no stack trace: %s", clip(r.stderr))
	}
}

func TestSpecialFileIsWrittenToAndNotReplaced(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	fifo := filepath.Join(scratch(t, nil), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan []byte, 1)
	go func() {
		text, _ := os.ReadFile(fifo)
		read <- text
	}()
	prywalk(t, "record", "-d", "1", "-p", strconv.Itoa(target.PID), "-o", fifo).must(t, 0)
	if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe was replaced: %v, %v", info, err)
	}
	select {
	case text := <-read:
		if p, err := profile.ParseData(text); err != nil || len(p.Sample) == 0 {
			t.Errorf("want a recording with samples from the pipe: %v, %v", p, err)
		}
	case <-time.After(patience):
		t.Error("the pipe was not written to")
	}
}

func TestRecordingOnStdout(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := prywalk(t, "record", "-d", "1", "-p", strconv.Itoa(target.PID), "-o", "-").must(t, 0)
	p, err := profile.ParseData([]byte(r.stdout))
	if err != nil {
		t.Fatal(err)
	}
	checkFormat(t, p)
}

func TestOutputNameExpandsPidAndTime(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	dir := scratch(t, nil)
	c := command{args: []string{"record", "-d", "1", "-p", strconv.Itoa(target.PID), "-o", "r-%p-%t.pb.gz"}, dir: dir}
	c.run(t).must(t, 0)
	files, _ := filepath.Glob(filepath.Join(dir, "*.pb.gz"))
	want := regexp.MustCompile(fmt.Sprintf(`/r-%d-[^%%/]+\.pb\.gz$`, target.PID))
	if len(files) != 1 || !want.MatchString(files[0]) {
		t.Fatalf("files are %v, want one as %v", files, want)
	}
	readProfile(t, files[0])
}

func TestDefaultOutputAndClosingLine(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	dir := scratch(t, nil)
	r := command{args: []string{"record", "-g", "-d", "1", "-p", strconv.Itoa(target.PID)}, dir: dir}.run(t).must(t, 0)
	p := readProfile(t, filepath.Join(dir, "prywalk.pb.gz"))
	if len(p.Comments) == 0 {
		t.Error("the profile has no comments")
	}
	if !strings.Contains(r.stderr, "complete") || r.stdout != "" {
		t.Errorf("want nothing on stdout and \"complete\" on stderr: stdout %q, stderr %q", clip(r.stdout),
			clip(r.stderr))
	}
	command{args: []string{"report"}, dir: dir}.run(t).must(t, 0)
}

func TestAggregateKeepsNoTime(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	plain := record(t, "-d", "1", "-p", strconv.Itoa(target.PID))
	timed := false
	for _, s := range plain.Sample {
		timed = timed || len(s.NumLabel["end_timestamp_ns"]) > 0
	}
	if !timed {
		t.Error("no time stamps without --aggregate")
	}
	for _, s := range record(t, "-d", "1", "--aggregate", "-p", strconv.Itoa(target.PID)).Sample {
		if len(s.NumLabel["end_timestamp_ns"]) > 0 {
			t.Fatal("a time stamp with --aggregate")
		}
	}
}

// That CPU and run queue time are parts of the wall time is in [TestSumsOfCPUTimeAreTheKernels].
func TestWallTimeOfSleepersIsTheRecordings(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	// A thread has no wall time before its first observation, nor after the last one before the end: their part
	// becomes smaller.
	r := recordUntil(t, "nearly all wall time of each sleeping thread", func(p *profile.Profile) bool {
		return !slices.ContainsFunc(target.Expect.Sleepers,
			func(s testtargets.Sleeper) bool { return wallShare(p, s.Thread) < 0.95 })
	}, "-p", strconv.Itoa(target.PID))
	for _, s := range target.Expect.Sleepers {
		if got := wallShare(r.Profile, s.Thread); got > 1 {
			t.Errorf("thread %s has %v of the recording's time as wall time, want 1 at most", s.Thread, got)
		}
	}
}

func wallShare(p *profile.Profile, thread string) float64 {
	wall := int64(0)
	for _, s := range p.Sample {
		if label(s, "thread") == thread {
			wall += s.Value[wallColumn]
		}
	}
	return float64(wall) / float64(max(p.DurationNanos, 1))
}

// The page of record --html is that of report --html, and names the functions of the recording.
func TestRecordWritesThePageAsWell(t *testing.T) {
	t.Parallel()
	dir := scratch(t, nil)
	target := testtargets.Run(t, "c", testtargets.Options{})
	pid := strconv.Itoa(target.PID)
	rec, page := filepath.Join(dir, "r.pb.gz"), filepath.Join(dir, "page-"+pid+".html")
	r := command{args: []string{"record", "-d", "1", "-p", pid, "-o", rec, "--html", filepath.Join(dir, "page-%p.html")}}.
		run(t).must(t, 0)
	if !strings.Contains(r.stderr, "r.pb.gz, "+page) {
		t.Errorf("the last line does not name the page: %s", r.stderr)
	}
	again := filepath.Join(dir, "again.html")
	command{args: []string{"report", rec, "--html", again}}.run(t).must(t, 0)
	got, err := os.ReadFile(page)
	want, _ := os.ReadFile(again)
	if err != nil || len(want) == 0 || len(got) < len(want)/2 || !bytes.Contains(got, []byte("</html>")) {
		t.Errorf("page of %d bytes, %v; report --html writes %d", len(got), err, len(want))
	}
	parts := command{args: []string{"report", "--json", rec, rec + ".copy"}}
	if err := os.Link(rec, rec+".copy"); err != nil {
		t.Fatal(err)
	}
	one := command{args: []string{"report", "--json", rec}}.run(t).must(t, 0)
	if sum := parts.run(t).must(t, 0); sum.stdout == one.stdout {
		t.Error("the sum of two recordings is the first")
	}
}
