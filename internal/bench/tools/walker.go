// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	_ "embed" // the walker's source
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

//go:embed src/walker.c
var walkerSource []byte

// walker is a program of src that stops threads as is done without thinking of what it costs.
type walker struct {
	*orders
	spent stretch
}

// walkerTool is the walker of src, compiled with some flags.
func walkerTool(name string, flags ...string) Tool {
	binary := func(j *Job) string { return filepath.Join(filepath.Dir(j.Dir), name) }
	return Tool{
		Name: name, Kinds: []string{Native}, Everybody: true,
		check: func(j *Job) error { return Compile(binary(j), walkerSource, flags...) },
		start: func(ctx context.Context, j *Job) (Session, error) {
			o, err := obey(ctx, binary(j), strconv.Itoa(j.PID), strconv.FormatFloat(j.Freq, 'g', -1, 64))
			if err != nil {
				return nil, err
			}
			w := &walker{orders: o}
			w.spent.pid = o.pid()
			return w, nil
		},
	}
}

// Compile makes a program of a source in C, unless it is there.
func Compile(binary string, code []byte, flags ...string) error {
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	source := binary + ".c"
	if err := os.WriteFile(source, code, 0o600); err != nil {
		return err
	}
	args := append([]string{"-O2", "-o", binary, source}, flags...)
	out, err := exec.Command("cc", args...).CombinedOutput()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("cannot be compiled (Debian: gcc, libunwind-dev): %w: %s", err, first)
	}
	return nil
}

// Go implements Session.
func (w *walker) Go() error {
	_, err := w.say("go")
	w.spent.begin()
	return err
}

// Mark implements Session.
func (w *walker) Mark() error { return nil }

// Hold implements Session.
func (w *walker) Hold() error {
	_, err := w.say("hold")
	w.spent.end()
	return err
}

// Finish implements Session.
func (w *walker) Finish() (t Totals, err error) {
	defer w.close()
	line, err := w.say("tell")
	if err != nil {
		return t, err
	}
	var c struct{ Ticks, Stacks, Complete, Stops int64 }
	if err := json.Unmarshal(line, &c); err != nil {
		return t, err
	}
	t = Totals{
		Seconds: w.spent.seconds, CPU: w.spent.cpu, Samples: c.Stacks, Complete: c.Complete, Stops: c.Stops, Ticks: c.Ticks,
		Calls: -1, Copied: -1,
		MemoryMB: peakMB(w.pid()),
	}
	err = w.end(syscall.SIGTERM)
	t.Whole = w.cpu
	return t, err
}
