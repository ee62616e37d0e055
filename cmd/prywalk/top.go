// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/commandline"
	"prywalk/internal/console"
	"prywalk/internal/exit"
	"prywalk/internal/printable"
	"prywalk/internal/recording"
	"prywalk/internal/sampler"
	"prywalk/internal/top"
	"prywalk/internal/view"
)

type topFlags struct {
	recordFlags
	interval commandline.Seconds
	window   commandline.Seconds
	value    string
	rows     int
	once     bool
	json     bool
}

const (
	refreshEvery = time.Second
	leastRefresh = 100 * time.Millisecond
	firstWindow  = 10 * time.Second
	// of plain text
	plainRows = 20
)

func newTop() *cobra.Command {
	f := &topFlags{recordFlags: recordFlags{freq: sampler.DefaultFreq, rung: "ladder"},
		interval: commandline.Seconds(refreshEvery), window: commandline.Seconds(firstWindow)}
	cmd := &cobra.Command{
		Use:   "top {-p PID | -n NAME}",
		Short: "live table of functions, threads and waits in the terminal",
		Long: `  prywalk top -p 4711
  prywalk top -n redis-server
  prywalk top -p 4711 -o server.pb.gz
  prywalk top -p 4711 --once
  prywalk top -p 4711 --json | jq -r '.functions[0].name'

Shows what threads do now: the functions that use the processors, the threads, and
what sleepers wait in, for the last 2, 10 or 60 seconds, or since the beginning. Keys:
tab goes to the next table, enter opens the selected row (a function's stacks, a
thread's or a wait's functions), esc goes back, c changes the clock (cpu,
runqueue, blocked, wall), space pauses the display while the sampling goes on,
/ filters, [ and ] change the window, w writes what is shown to a file, ? lists the
keys, q ends.

▲ and ▼ mark shares that have changed by more than sampling noise. In a pipe, or with
--once, the table is plain text. With -o the whole becomes a recording, as that of
prywalk record. The overhead is that of prywalk record.`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	f.add(fl)
	f.addWait(fl)
	f.addRule(fl)
	fl.VarP(&f.freq, "freq", "F", "sampling rate in Hz")
	fl.VarP(&f.freq, "rate", "r", "the same as --freq")
	fl.VarP(&f.duration, "duration", "d", "how long: seconds (30) or with a unit (30s, 2m); until q otherwise")
	fl.Var(&f.interval, "interval", "time between two refreshes")
	fl.Var(&f.window, "window", "show the last so many seconds: 2, 10 or 60 on a terminal, any in plain text")
	fl.StringVar(&f.value, "value", "cpu", "the clock to begin with: cpu, runqueue, blocked or wall")
	fl.StringVar(&f.goroutines, "goroutines", "on", goroutinesUsage)
	fl.BoolVar(&f.once, "once", false, "print one table, of one window, and end")
	fl.BoolVar(&f.json, "json", false, "one line of JSON for each refresh")
	fl.IntVar(&f.rows, "rows", plainRows, "functions in plain text, and rows of each kind in JSON (-1: all)")
	fl.StringVarP(&f.output, "output", "o", "", "also write a recording to this file; %p the pid, %t the time")
	fl.BoolVar(&f.children, "children", false, "also show child processes, those already running included")
	fl.StringVar(&f.engine, "engine", engineAuto, engineUsage)
	fl.BoolVar(&f.noKernel, "no-kernel", false, "leave the kernel's functions out of stacks")
	fl.Var(&f.maxOverhead, "max-overhead",
		"lower the rate so that targets lose at most this share of their time, such as 2%")
	fl.Var(&f.maxPause, "max-pause", "stop no thread if that is expected to take longer, such as 100us")
	fl.BoolVar(&f.readOnly, "read-only", false, readOnlyUsage)
	fl.StringVar(&f.threads, "threads", "", "only threads whose name matches this regular expression")
	fl.IntVar(&f.maxDepth, "max-depth", 1024, "frames of a stack at most")
	fl.SortFlags = false
	return cmd
}

func (f *topFlags) run(cmd *cobra.Command, args []string) error {
	if args = f.takeArgument(cmd, args); f.mayBeProcess(cmd, args) {
		f.name, args = args[0], nil
	}
	clocks := top.Clocks()
	switch {
	case len(args) > 0:
		return exit.Usage("top takes running processes only, so that no output overwrites the table: start it elsewhere, " +
			"and give -n NAME --wait here")
	case len(f.pids) == 0 && f.name == "" && !f.wait && !f.hasRule():
		return exit.Usage("no target: give -p PID or -n NAME")
	case f.goroutines != "on" && f.goroutines != "off":
		return exit.Usage("--goroutines %s: give on or off", printable.Line(f.goroutines))
	case f.maxDepth < 1:
		return exit.Usage("--max-depth %d: give at least 1", f.maxDepth)
	case time.Duration(f.interval) < leastRefresh:
		return exit.Usage("--interval %s: give at least %s", &f.interval, leastRefresh)
	case !slices.Contains(clocks, top.Clock(f.value)):
		return exit.Usage("--value %q: choose cpu, runqueue, blocked or wall", f.value)
	case console.IsStdout(f.output):
		return exit.Usage("-o - would mix the recording with the table; give a file")
	case f.rows == 0 || f.rows < -1:
		return exit.Usage("--rows %d: give at least 1, or -1 for all", f.rows)
	}
	o := sampler.Options{
		Freq: float64(f.freq), MaxDepth: f.maxDepth, ReadOnly: f.readOnly, Children: f.children,
		MaxPause: time.Duration(f.maxPause), MaxOverhead: float64(f.maxOverhead), WatchEvery: time.Duration(f.interval),
		Tasks: f.goroutines == "on" && f.threads == "",
	}
	var err error
	if o.Threads, err = view.Compile("threads", f.threads); err != nil {
		return err
	}
	if err := f.find(); err != nil {
		return err
	}
	f.follow(&o)
	if err := f.openEngine(&o); err != nil {
		return err
	}
	defer f.closeEngine(&o)
	return recording.Live(
		recording.Options{
			Sampler: o, PIDs: f.pids, Duration: time.Duration(f.duration), Output: f.output, Threads: f.threads,
			Selected: f.finder != nil,
		},
		recording.LiveOptions{
			Clock: top.Clock(f.value), Window: time.Duration(f.window), Rows: f.rows, Once: f.once, JSON: f.json,
		})
}
