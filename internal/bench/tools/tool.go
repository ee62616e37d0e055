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
	// PID is the target; it has Threads threads.
	PID, Threads int
	// Others are further targets, for the kind Several.
	Others []int
	// Freq is samples a second.
	Freq float64
	// MaxDepth in frames, 0 for the tool's default.
	MaxDepth int
	// Dir is for files, removed afterwards.
	Dir string
	// Self is prywalk's file, Engine its flag.
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

// Session is a running tool, switched off at first.
type Session interface {
	// Go switches it on; after Hold returns the process is left alone.
	Go() error
	Hold() error
	// Mark forgets counts since Go, for tools that know them.
	Mark() error
	// Finish ends the tool and gives its totals.
	Finish() (Totals, error)
	// Kill ends it at once, if it runs.
	Kill()
}

// Totals are of the time switched on; −1 is unknown.
type Totals struct {
	// Seconds on, and processor time in them.
	Seconds, CPU float64
	// After is the processor time, in seconds, of making stacks, names and files at the end.
	After float64
	// Whole is the processor time from start to end, in seconds; 0: unknown.
	Whole float64
	// Samples are stacks delivered, Complete of them complete.
	Samples, Complete int64
	Stops             int64
	// Ticks, system calls and bytes copied; prywalk only.
	Ticks, Calls, Copied int64
	// MemoryMB is the peak resident size in 10^6 bytes.
	MemoryMB float64
	// RecordingMB is that of a minute, in 10^6 bytes; prywalk only.
	RecordingMB float64
	// Freeze has the lengths of stops, if known.
	Freeze *Freeze
	// Scheduling is prywalk's priority.
	Scheduling string
}

// Freeze has lengths of stops in microseconds.
type Freeze struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Kinds of process.
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
	// Everybody: it samples sleeping threads too.
	Everybody bool
	// Unpaced: as often as possible, up to the rate.
	Unpaced bool

	// Check reports why the tool is unavailable; it may compile it.
	Check func(*Job) error
	// Start starts the tool, switched off.
	Start func(context.Context, *Job) (Session, error)
}

// Prywalk is this program.
func Prywalk() Tool {
	return Tool{Kinds: []string{Native, Python, JVM, Several}, Everybody: true,
		Check: func(*Job) error { return nil }, Start: startPrywalk}
}

// Peers lists other tools for any program, installed or not.
func Peers() []Tool {
	return []Tool{
		perfTool("perf-fp", "fp"), perfTool("perf-dwarf", "dwarf,8192"), perfTool("perf-dwarf64", "dwarf,65528"), samply(),
		snapshotTool("gdb", gdbArgs, "Thread ", gdbComplete), snapshotTool("eu-stack", euStackArgs, "TID ", euStackComplete),
	}
}

// For reports whether the tool is for a kind of process.
func (t *Tool) For(kind string) bool { return slices.Contains(t.Kinds, kind) }

// Installed checks for a program in PATH.
func Installed(program, remedy string) func(*Job) error {
	return func(*Job) error {
		if _, err := exec.LookPath(program); err != nil {
			return errors.New("not installed (" + remedy + ")")
		}
		return nil
	}
}

// Runs checks that a program in PATH runs on this system.
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
