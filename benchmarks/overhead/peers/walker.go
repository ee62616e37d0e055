// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"prywalk/benchmarks/bench/tools"
)

//go:embed src/walker.c
var walkerSource []byte

type walker struct {
	*tools.Orders
	spent tools.Stretch
}

func walkerTool(name string, flags ...string) tools.Tool {
	binary := func(j *tools.Job) string { return filepath.Join(filepath.Dir(j.Dir), name) }
	return tools.Tool{
		Name: name, Kinds: []string{tools.Native}, AllThreads: true,
		Check: func(j *tools.Job) error { return Compile(binary(j), walkerSource, flags...) },
		Start: func(ctx context.Context, j *tools.Job) (tools.Session, error) {
			o, err := tools.StartOrders(ctx, binary(j), strconv.Itoa(j.PID), strconv.FormatFloat(j.Freq, 'g', -1, 64))
			if err != nil {
				return nil, err
			}
			w := &walker{Orders: o}
			w.spent.PID = o.PID()
			return w, nil
		},
	}
}

// Compile compiles a C source, unless the binary exists.
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
	_, err := w.Send("go")
	w.spent.Begin()
	return err
}

// Mark implements Session.
func (w *walker) Mark() error { return nil }

// Hold implements Session.
func (w *walker) Hold() error {
	_, err := w.Send("hold")
	w.spent.End()
	return err
}

// Finish implements Session.
func (w *walker) Finish() (t tools.Totals, err error) {
	defer w.Close()
	line, err := w.Send("tell")
	if err != nil {
		return t, err
	}
	var c struct{ Stacks, Complete, Stops int64 }
	if err := json.Unmarshal(line, &c); err != nil {
		return t, err
	}
	t = tools.Totals{
		Seconds: w.spent.Seconds, CPU: w.spent.CPU, Samples: c.Stacks, Complete: c.Complete, Stops: c.Stops,
		Calls: -1, Copied: -1,
		MemoryMB: tools.PeakMB(w.PID()),
	}
	err = w.End(syscall.SIGTERM)
	t.Whole = w.CPU
	return t, err
}
