// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// Result is what a job wrote and how it ended.
type Result struct {
	Status  string // "ok", as [os.ProcessState] says, or "timeout"; empty if it did not end
	Seconds string
	Output  []string
}

// Console is what a machine wrote.
type Console struct {
	Jobs     map[string]*Result
	Rest     []string // lines of no job
	Up, Down bool     // it began, and switched itself off

	files map[string]*strings.Builder
	last  string // line
}

// Machine is an emulated machine.
type Machine struct {
	Emulator string   // a program of qemu
	Args     []string // what depends on the architecture, such as -machine
	CPUs     int      // 0: two
	Kernel   string
	Console  string        // the kernel's name of the serial line
	Append   string        // further boot parameters, or ""
	Log      string        // a file that gets what the machine writes, or ""
	Silence  time.Duration // ends a machine that has written nothing for so long; 0: none
	Time     time.Duration // ends the machine; 0: a minute after the limits of all jobs
	// Remedy is the command that gives the machine more time. In make test-all, where others share the time, a machine
	// whose time is over is skipped with it if it was not silent and no test in it had failed. Elsewhere, and without a
	// Remedy, it fails.
	Remedy string
}

// Boot puts the jobs into the file system, runs the machine with it until it switches itself off, and judges that it
// did. It is ended when its time is over, a minute before the test's own end, or when it has been silent for too long.
func (m *Machine) Boot(b *Builder, jobs []Job) *Console {
	t := b.T
	t.Helper()
	b.Img.File("jobs", JobList(jobs))
	initrd := filepath.Join(b.Dir, "initrd")
	f, err := os.Create(initrd)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Img.Finish(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	limit := time.Minute
	for _, j := range jobs {
		limit += j.Limit
	}
	return m.run(t, initrd, cmp.Or(m.Time, limit))
}

// leastShare is what a machine needs to be begun: on a busy host it boots, and runs some tests, within it.
const leastShare = 10 * time.Minute

const moreTime = "more time than is left for this machine"

// NeedTime returns the time for the next of several machines of a test. If it is below leastShare the test is skipped
// with a remedy in make test-all, where others share the time; elsewhere it fails.
func NeedTime(t *testing.T, machines int, remedy string) time.Duration {
	t.Helper()
	end, limited := t.Deadline()
	if !limited {
		return math.MaxInt64
	}
	share := (time.Until(end) - 2*time.Minute) / time.Duration(machines)
	if share < leastShare {
		testtargets.Need(t, !testtargets.All(), moreTime, remedy)
		t.Fatalf("%v is left for this machine, which needs %v: give go test a longer -timeout",
			share.Round(time.Second), leastShare)
	}
	return share
}

var errTimeIsOver = errors.New("its time is over")

func (m *Machine) run(t *testing.T, initrd string, limit time.Duration) *Console {
	t.Helper()
	if end, limited := t.Deadline(); limited {
		limit = min(limit, time.Until(end)-time.Minute) // go test's own end would leave the machine
	}
	timed, stop := context.WithTimeoutCause(t.Context(), limit, errTimeIsOver)
	defer stop()
	ctx, cancel := context.WithCancelCause(timed)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, m.Emulator, slices.Concat(m.Args, []string{"-smp", strconv.Itoa(cmp.Or(m.CPUs, 2)),
		"-kernel", m.Kernel, "-initrd", initrd,
		"-append", strings.TrimSpace("console=" + m.Console + " quiet panic=-1 rdinit=/init " + m.Append),
		"-display", "none", "-monitor", "none", "-serial", "stdio", "-nic", "none", "-no-reboot"})...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := io.Reader(pipe)
	if m.Log != "" {
		f, err := os.Create(m.Log)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out = io.TeeReader(pipe, f)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", m.Emulator, err)
	}
	silence := cmp.Or(m.Silence, limit)
	silent := time.AfterFunc(silence, func() { cancel(fmt.Errorf("it has written nothing for %v", silence)) })
	defer silent.Stop()
	c := listen(out, func() { silent.Reset(silence) })
	err = cmd.Wait()
	switch cause := context.Cause(ctx); {
	case err != nil && cause != nil:
		testtargets.Need(t, !m.isLeft(c, cause), moreTime, m.Remedy)
		took := time.Since(begun).Round(time.Second)
		t.Errorf("qemu was ended after %v: %v; its last line: %s", took, cause, c.last)
	case err != nil:
		t.Errorf("qemu: %v\n%s", err, errs.String())
	}
	if !c.Up || !c.Down {
		t.Errorf("the machine did not boot and shut down:\n%s", strings.Join(c.Rest, "\n"))
	}
	return c
}

// isLeft reports whether a machine that was ended is left to its remedy: nothing but its time was against it, which
// others shared.
func (m *Machine) isLeft(c *Console, cause error) bool {
	if m.Remedy == "" || !testtargets.All() || !c.Up || !errors.Is(cause, errTimeIsOver) {
		return false
	}
	for _, r := range c.Jobs {
		if slices.ContainsFunc(r.Output, isFailure) || r.Status != "ok" && r.Status != "" {
			return false
		}
	}
	return true
}

func isFailure(line string) bool {
	return strings.Contains(line, "--- FAIL: ") || strings.HasPrefix(line, "panic: ")
}

func (c *Console) piece(name, text string) {
	if c.files[name] == nil {
		c.files[name] = &strings.Builder{}
	}
	c.files[name].WriteString(text)
}

// File returns a file that a job has sent.
func (c *Console) File(t *testing.T, name string) []byte {
	t.Helper()
	text := c.files[name]
	if text == nil {
		t.Fatalf("the machine did not send the file %s", name)
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text.String())))
	if err != nil {
		t.Fatalf("file %s: %v", name, err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("file %s: %v", name, err)
	}
	return b
}

func listen(r io.Reader, heard func()) *Console {
	c := &Console{Jobs: map[string]*Result{}, files: map[string]*strings.Builder{}}
	var cur *Result
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		heard()
		line := strings.TrimRight(sc.Text(), "\r")
		c.last = line
		words := strings.Fields(line)
		if len(words) == 4 && words[0] == "@@" && words[1] == "file" {
			c.piece(words[2], words[3])
			continue
		}
		if len(words) < 2 || words[0] != "@@" {
			if cur != nil {
				cur.Output = append(cur.Output, line)
			} else {
				c.Rest = append(c.Rest, line)
			}
			continue
		}
		switch {
		case words[1] == "up":
			c.Up = true
		case words[1] == "down":
			c.Down = true
		case words[1] == "job" && len(words) == 3:
			cur = &Result{}
			c.Jobs[words[2]] = cur
		case words[1] == "end" && len(words) == 5 && c.Jobs[words[2]] == cur && cur != nil:
			cur.Status, cur.Seconds = words[3], words[4]
			cur = nil
		default:
			c.Rest = append(c.Rest, line)
		}
	}
	return c
}

// CheckJob judges a job that is a test binary with -test.v, or says PASS as one.
func (c *Console) CheckJob(t *testing.T, j Job) {
	r := c.Jobs[j.Name]
	if r == nil {
		t.Fatal("the job did not begin")
	}
	out := strings.Join(r.Output, "\n")
	passed := strings.Contains(out, "--- PASS: ") || !slices.Contains(j.Args, "-test.v")
	if r.Status != "ok" || !strings.Contains(out, "\nPASS") || !passed {
		t.Fatalf("status %s after %s s, want ok, PASS and a test that passed\n%s", r.Status, r.Seconds,
			strings.Join(unpassed(r.Output), "\n"))
	}
	t.Logf("%d tests in %s s%s", strings.Count(out, "--- PASS: "), r.Seconds, r.table())
}

// unpassed leaves the output of tests that passed or were skipped out of a test binary's output with -test.v.
func unpassed(lines []string) (rest []string) {
	begin, name := 0, "" // of the section that a test's output is in
	for _, line := range lines {
		words := append(strings.Fields(line), "", "", "")
		top := !strings.HasPrefix(line, " ") && !strings.Contains(words[2], "/")
		rest = append(rest, line)
		switch words[0] + words[1] {
		case "===RUN", "===CONT", "===NAME":
			if top {
				begin, name = len(rest)-1, words[2]
			}
		case "---PASS:", "---SKIP:":
			if top && words[2] == name {
				rest, name = rest[:begin], ""
			}
		}
	}
	return rest
}

func (r *Result) table() string {
	var s strings.Builder
	for _, line := range r.Output {
		if strings.Contains(line, " %  ") || strings.Contains(line, "(wrong)") {
			s.WriteString("\n" + line)
		}
	}
	return s.String()
}
