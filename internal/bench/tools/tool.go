// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Job is what a tool is to do.
type Job struct {
	// PID is the process to look at; it has Threads threads.
	PID, Threads int
	// Others are further processes to look at, for the kind Several.
	Others []int
	// Freq is the number of looks a second.
	Freq float64
	// MaxDepth is the number of frames that are wanted, 0 for what the tool does by itself.
	MaxDepth int
	// Dir is for files; it goes when all is done.
	Dir string
	// Self is prywalk's own file, Engine its flag of this name.
	Self, Engine string
}

// PIDs gives all processes, separated by commas.
func (j *Job) PIDs() string {
	list := strconv.Itoa(j.PID)
	for _, pid := range j.Others {
		list += "," + strconv.Itoa(pid)
	}
	return list
}

// Session is a tool that runs. It begins switched off.
type Session interface {
	// Go switches it on; Hold switches it off: when Hold returns, the process is left alone.
	Go() error
	Hold() error
	// Mark forgets what was counted since Go: sampling is steady from here on. Only those that know
	// their counts at any time obey.
	Mark() error
	// Finish ends the tool and gives what it did.
	Finish() (Totals, error)
	// Kill ends it at once. It may have ended.
	Kill()
}

// Totals are what a tool did while it was switched on. Counts that cannot be told are −1.
type Totals struct {
	// Seconds it was on for, and the processor time that it took then.
	Seconds, CPU float64
	// After is the processor time, in seconds, that it took in the end to make stacks of what it had
	// copied, names for them, and files.
	After float64
	// Whole is the processor time, in seconds, from its start to its end: all that it takes to have the stacks with
	// their names. 0 where it is not told.
	Whole float64
	// Samples are stacks delivered, Complete of them reach the thread's first function.
	Samples, Complete int64
	// Stops of threads.
	Stops int64
	// Ticks, system calls and bytes copied from the process; prywalk alone counts them.
	Ticks, Calls, Copied int64
	// MemoryMB is the largest resident size in 10^6 bytes.
	MemoryMB float64
	// RecordingMB is what a minute takes in the recording, in 10^6 bytes; prywalk's only, else 0.
	RecordingMB float64
	// Freeze has the lengths of stops, where known.
	Freeze *Freeze
	// Scheduling is the priority that prywalk got.
	Scheduling string
}

// Freeze has the lengths of freezes in microseconds.
type Freeze struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// The kinds of process that tools differ in.
const (
	Native = "native"
	Python = "python"
	JVM    = "jvm"
	// Several processes are the target.
	Several = "several"
)

// Tool is a profiler.
type Tool struct {
	// Name is "" for prywalk.
	Name string
	// Kinds of process that it is for.
	Kinds []string
	// Everybody: it looks at threads that sleep too.
	Everybody bool
	// Unpaced: it looks as often as it can, but not more often than asked.
	Unpaced bool

	// Check says why the tool cannot be had, nil if it can. It may compile it.
	Check func(*Job) error
	// Start starts the tool on a process, switched off.
	Start func(context.Context, *Job) (Session, error)
}

// Prywalk is the tool that this program is.
func Prywalk() Tool {
	return Tool{Kinds: []string{Native, Python, JVM, Several}, Everybody: true,
		Check: func(*Job) error { return nil }, Start: startPrywalk}
}

// Peers lists the other tools that look at any program, whether or not they are here.
func Peers() []Tool {
	return []Tool{
		perfTool("perf-fp", "fp"), perfTool("perf-dwarf", "dwarf,8192"), perfTool("perf-dwarf64", "dwarf,65528"), samply(),
		snapshotTool("gdb", gdbArgs, "Thread ", gdbComplete), snapshotTool("eu-stack", euStackArgs, "TID ", euStackComplete),
	}
}

// For reports whether the tool is for a kind of process.
func (t *Tool) For(kind string) bool { return slices.Contains(t.Kinds, kind) }

// Installed is the check of a tool that is a program in PATH.
func Installed(program, remedy string) func(*Job) error {
	return func(*Job) error {
		if _, err := exec.LookPath(program); err != nil {
			return errors.New("not installed (" + remedy + ")")
		}
		return nil
	}
}

// Runs is the check of a tool that is in PATH, but may be made for another system.
func Runs(program, remedy string) func(*Job) error {
	return func(j *Job) error {
		if err := Installed(program, remedy)(j); err != nil {
			return err
		}
		out, err := exec.Command(program, "--version").CombinedOutput()
		if err != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("does not run: %w: %s", err, first)
		}
		return nil
	}
}
