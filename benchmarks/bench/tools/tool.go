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

// Job is what a tool has to do.
type Job struct {
	// PID is the target; Threads are those of all targets.
	PID, Threads int
	Others       []int   // further targets, of kind Several
	Freq         float64 // samples per second
	MaxDepth     int     // in frames; 0: the tool's default
	Dir          string
	// Self is prywalk's file, Engine its flag.
	Self, Engine string
}

// PIDs returns all processes, separated by commas.
func (j *Job) PIDs() string {
	list := strconv.Itoa(j.PID)
	for _, pid := range j.Others {
		list += "," + strconv.Itoa(pid)
	}
	return list
}

// Session is a running tool, switched off at first.
type Session interface {
	// Go switches it on; after Hold returns, the process is undisturbed.
	Go() error
	Hold() error
	// Mark drops counts since Go, if the tool has any.
	Mark() error
	// Finish ends the tool and returns its totals.
	Finish() (Totals, error)
	// Kill ends it at once, if it runs.
	Kill()
}

// Totals are of the time switched on; −1: unknown. Times are in s, sizes in 10^6 bytes.
type Totals struct {
	Seconds, CPU      float64 // time switched on, and CPU time in it
	After             float64 // CPU time of stacks, names and files at the end
	Whole             float64 // CPU time from start to end; 0: unknown
	Samples, Complete int64   // delivered stacks, complete ones
	Stops             int64
	// Ticks, system calls and bytes copied: prywalk only.
	Ticks, Calls, Copied int64
	MemoryMB             float64    // peak resident size
	RecordingMB          float64    // of a minute; prywalk only
	StopTimes            *StopTimes // lengths of stops; nil: unknown
	Scheduling           string     // prywalk's priority
}

// StopTimes is lengths of stops, µs.
type StopTimes struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Kinds of process.
const (
	Native  = "native"
	Python  = "python"
	JVM     = "jvm"
	Several = "several"
)

// Tool is a profiler.
type Tool struct {
	Name       string   // "": prywalk
	Kinds      []string // of process that it can sample
	AllThreads bool
	Unpaced    bool // as often as possible, up to the rate

	// Check reports why the tool is unavailable; it may compile it.
	Check func(*Job) error
	Start func(context.Context, *Job) (Session, error)
}

// Prywalk is the tool of a Job's Self.
func Prywalk() Tool {
	return Tool{Kinds: []string{Native, Python, JVM, Several}, AllThreads: true,
		Check: func(*Job) error { return nil }, Start: startPrywalk}
}

// Peers returns other tools for any program, installed or not.
func Peers() []Tool {
	return []Tool{
		perfTool("perf-fp", "fp"), perfTool("perf-dwarf", "dwarf,8192"), perfTool("perf-dwarf64", "dwarf,65528"), samply(),
		snapshotTool("gdb", "gdb", gdbArgs, "Thread ", gdbComplete),
		snapshotTool("eu-stack", "elfutils", euStackArgs, "TID ", euStackComplete),
	}
}

// For reports whether the tool is for a kind of process.
func (t *Tool) For(kind string) bool { return slices.Contains(t.Kinds, kind) }

// Installed returns a check for a program in PATH.
func Installed(program, remedy string) func(*Job) error {
	return func(*Job) error {
		if _, err := exec.LookPath(program); err != nil {
			return errors.New("not installed (" + remedy + ")")
		}
		return nil
	}
}

// Runs returns a check that a program in PATH runs on this system.
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
