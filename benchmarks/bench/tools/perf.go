// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

type perf struct {
	*Program
	spent    Stretch
	ctl, ack *os.File
	data     string
}

// perfTool samples running threads only.
func perfTool(name, stacks string) Tool {
	return Tool{
		Name: name, Kinds: []string{Native, Python, JVM, Several}, Check: Installed("perf", "Debian: linux-perf"),
		Start: func(ctx context.Context, j *Job) (Session, error) { return startPerf(ctx, j, stacks) },
	}
}

func startPerf(ctx context.Context, j *Job, stacks string) (Session, error) {
	p := &perf{data: filepath.Join(j.Dir, "perf.data")}
	ctl, ack := filepath.Join(j.Dir, "ctl"), filepath.Join(j.Dir, "ack")
	for path, file := range map[string]**os.File{ctl: &p.ctl, ack: &p.ack} {
		err := unix.Mkfifo(path, 0o600)
		if err == nil {
			// For both ways, so that no end waits; non-blocking, so that reads time out.
			*file, err = os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
		}
		if err != nil {
			p.closeFiles()
			return nil, err
		}
	}
	freq := strconv.Itoa(int(math.Round(j.Freq)))
	var err error
	files := strconv.Itoa(2*runtime.NumCPU()*j.Threads + 1024)
	p.Program, err = launch(ctx, nil, "sh", "-c", manyFiles, files, "record", "-q", "-N", "-o", p.data, "-e", "cpu-clock",
		"--call-graph", stacks,
		"-F", freq, "-D", "-1", "--control", "fifo:"+ctl+","+ack, "-p", j.PIDs())
	if err != nil {
		p.closeFiles()
		return nil, err
	}
	p.spent.PID = p.PID()
	if err := p.say("disable"); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// perf opens two files per thread and processor.
const manyFiles = `ulimit -n "$0" 2>/dev/null || ulimit -n "$(ulimit -H -n)"; exec perf "$@"`

func (p *perf) say(order string) error {
	if _, err := io.WriteString(p.ctl, order+"\n"); err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := p.ack.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return err
		}
		var answer [16]byte
		if n, err := p.ack.Read(answer[:]); err == nil && bytes.HasPrefix(answer[:n], []byte("ack")) {
			return nil
		}
		if err := p.alive(); err != nil {
			return err
		}
	}
	return fmt.Errorf("perf does not answer to %q", order)
}

// Go implements Session.
func (p *perf) Go() error {
	p.spent.Begin()
	return p.say("enable")
}

// Mark implements Session.
func (p *perf) Mark() error { return nil }

// Hold implements Session.
func (p *perf) Hold() error {
	err := p.say("disable")
	p.spent.End()
	return err
}

// Finish implements Session.
func (p *perf) Finish() (Totals, error) {
	defer p.closeFiles()
	t := Totals{Seconds: p.spent.Seconds, CPU: p.spent.CPU, Calls: -1, Copied: -1}
	if err := p.finish(&t); err != nil {
		return t, err
	}
	return t, p.script(&t)
}

func (p *perf) script(t *Totals) error {
	cmd := exec.Command("perf", "script", "-i", p.data, "--no-inline", "-F", "tid,ip,sym")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.Samples, t.Complete = countStacks(out)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("perf script: %w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	spent := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	t.After, t.Whole = t.After+spent, t.Whole+spent
	return nil
}

// countStacks expects indented frames, the outermost last, and an empty line after each stack.
func countStacks(r io.Reader) (samples, complete int64) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	last := ""
	flush := func() {
		if last == "" {
			return
		}
		samples++
		if atRoot(last) {
			complete++
		}
		last = ""
	}
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text == "" {
			flush()
		} else {
			last = text
		}
	}
	flush()
	return samples, complete
}

func atRoot(frame string) bool {
	_, name, _ := strings.Cut(frame, " ")
	return IsRoot(name)
}

func (p *perf) closeFiles() {
	p.ctl.Close()
	p.ack.Close()
}

// Kill implements Session.
func (p *perf) Kill() {
	p.Program.Kill()
	p.closeFiles()
}
