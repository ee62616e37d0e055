package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// restarted is a tool that obeys no orders: it is started anew each time that it is switched on. (Stopped by
// SIGSTOP, py-spy makes up for all the looks that it missed when it goes on.)
type restarted struct {
	spent   stretch
	job     *Job
	ctx     context.Context
	command func(file string) []string
	// sampling tells from what it prints and the output file that it has begun to look.
	sampling func(said []byte, file string) bool
	count    func(text []byte) int64 // the stacks in its file
	runs     int
	now      *process
	totals   Totals
}

// start makes a session.
func (r restarted) start(ctx context.Context, j *Job) (Session, error) {
	r.ctx, r.job = ctx, j
	r.totals = Totals{Complete: -1, Stops: -1, Ticks: -1, Calls: -1, Copied: -1}
	return &r, nil
}

// file is the output of the present run, saidFile what it prints.
func (r *restarted) file() string { return filepath.Join(r.job.Dir, fmt.Sprintf("out%d", r.runs)) }

func (r *restarted) saidFile() string { return r.file() + ".err" }

// Go implements Session.
func (r *restarted) Go() error {
	r.runs++
	errs, err := os.Create(r.saidFile())
	if err != nil {
		return err
	}
	defer errs.Close()
	command := r.command(r.file())
	r.now, err = launch(r.ctx, func(c *exec.Cmd) { c.Stdout, c.Stderr = errs, errs }, command[0], command[1:]...)
	if err != nil {
		return err
	}
	r.spent.pid = r.now.pid()
	for end := time.Now().Add(patience); !r.sampling(r.said(), r.file()); time.Sleep(time.Millisecond) {
		if err := r.now.alive(); err != nil {
			return fmt.Errorf("%w: %s", err, lastLine(r.said()))
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has not begun within %v: %s", command[0], patience, lastLine(r.said()))
		}
	}
	r.spent.begin()
	return nil
}

func (r *restarted) said() []byte {
	text, _ := os.ReadFile(r.saidFile()) // it is there
	return text
}

// Mark implements Session.
func (r *restarted) Mark() error { return nil }

// Hold implements Session.
func (r *restarted) Hold() error {
	r.spent.end()
	before := processCPU(r.now.pid())
	r.totals.MemoryMB = max(r.totals.MemoryMB, peakMB(r.now.pid()))
	if err := r.now.end(syscall.SIGINT); err != nil {
		return err
	}
	r.totals.After += max(0, r.now.cpu-before)
	r.totals.Whole += r.now.cpu
	text, err := os.ReadFile(r.file())
	if err != nil {
		return fmt.Errorf("%s left no file: %w: %s", r.now.cmd.Args[0], err, lastLine(r.said()))
	}
	r.totals.Samples += r.count(text)
	return nil
}

// Finish implements Session.
func (r *restarted) Finish() (Totals, error) {
	t := r.totals
	t.Seconds, t.CPU = r.spent.seconds, r.spent.cpu
	if t.Samples == 0 {
		return t, errors.New("it saw nothing: " + lastLine(r.said()))
	}
	return t, nil
}

// Kill implements Session.
func (r *restarted) Kill() {
	if r.now != nil {
		r.now.Kill()
	}
}

// pySpy is py-spy, with the threads that sleep, as the others do.
func pySpy() Tool {
	return Tool{
		Name: "py-spy", Kinds: []string{Python}, Everybody: true, check: runs("py-spy", "pip install py-spy"),
		start: func(ctx context.Context, j *Job) (Session, error) {
			return restarted{
				command: func(file string) []string {
					return []string{
						"py-spy", "record", "--pid", strconv.Itoa(j.PID), "--rate", strconv.Itoa(int(j.Freq)),
						"--idle", "--threads", "--format", "raw", "--output", file,
					}
				},
				sampling: func(said []byte, _ string) bool { return bytes.Contains(said, []byte("Sampling process")) },
				count:    sumOfCounts,
			}.start(ctx, j)
		},
	}
}

// austin is austin, which stops nothing.
func austin() Tool {
	return Tool{
		Name: "austin", Kinds: []string{Python}, Everybody: true, check: runs("austin", "pip install austin-dist"),
		start: func(ctx context.Context, j *Job) (Session, error) {
			return restarted{
				command: func(file string) []string {
					return []string{"austin", "--interval", strconv.Itoa(int(1e6 / j.Freq)), "--pid", strconv.Itoa(j.PID), "--output", file}
				},
				sampling: func(_ []byte, file string) bool {
					_, err := os.Stat(file)
					return err == nil
				},
				count: func(text []byte) int64 { return countLines(text, "P") },
			}.start(ctx, j)
		},
	}
}

// sumOfCounts adds up the numbers at the ends of the lines of folded stacks.
func sumOfCounts(text []byte) (sum int64) {
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 {
			n, _ := strconv.ParseInt(fields[len(fields)-1], 10, 64) // another line is no stack
			sum += n
		}
	}
	return sum
}

// lastLine gives the last line of a text.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
