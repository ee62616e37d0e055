// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/condition"
	"prywalk/internal/command/console"
	"prywalk/internal/command/recording"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
)

type recordFlags struct {
	processes         processFlags
	recording         recording.Options
	mode, eventLog    string
	goroutines, tasks bool
	on                []string
	engine            string
	noKernel          bool
}

const readOnlyUsage = "write nothing in the target, not even to restart a system call that a stop has interrupted " +
	"(such a call may return EINTR); sleeping threads are never stopped"

func newRecord() *cobra.Command {
	f := &recordFlags{recording: recording.Options{Sampler: target.SamplingOptions{Freq: sampler.DefaultFreq}}}
	cmd := &cobra.Command{
		Use:   "record {-p PID | -n NAME | " + ruleForm + " | -- COMMAND [ARG…]}",
		Short: "sample processes into a recording",
		Long:  helpPage("record"),
		RunE:  f.run,
	}
	f.addTo(cmd.Flags())
	return cmd
}

func (f *recordFlags) addTo(fl *pflag.FlagSet) {
	f.processes.addTargets(fl)
	f.processes.addWait(fl)
	f.processes.addRule(fl)
	f.addRate(fl)
	fl.VarP(commandline.Seconds(&f.recording.Duration), "duration", "d", "how long: seconds (30) or with a unit (30s, 2m)")
	fl.StringVarP(&f.recording.Output, "output", "o", recordingName, "the recording; - is stdout; %p the pid, %t the time")
	fl.BoolVar(&f.recording.Sampler.Children, "children", false,
		"child processes, too, also those that run already (on for a command, a unit, a cgroup, the host)")
	fl.StringVar(&f.recording.Page, "html", "", "write the page of report --html to this file as well")
	fl.BoolVar(&f.recording.Open, "open", false,
		"with --html: open the page in a browser (xdg-open) at the end; root opens none")
	f.addLimits(fl)
	fl.IntVar(&f.recording.Sampler.Subset, "subset", 0,
		"sample at most this many threads at a time, chosen at random; running ones are stopped, as with --engine ptrace")
	fl.BoolVar(&f.recording.Aggregate, "aggregate", false, "keep sums without time stamps: a smaller recording")
	f.addRotation(fl)
	fl.StringVar(&f.recording.Stats, "stats", "", "write what the run did to this file, as JSON")
	fl.BoolP("call-graph", "g", false, "accepted and ignored: stacks are always on")
	fl.StringVar(&f.mode, "rung", "auto", "force one sampling method, for measurements: auto, passive, no-reuse, stop")
	fl.BoolVar(&f.recording.Context, "context", false,
		"label samples with the request: trace_id, span_id and attributes as "+
			"OpenTelemetry's libraries publish them (OTEP 4947); running threads are stopped, as with --engine ptrace")
	f.addTasks(fl)
	f.addEngine(fl)
	fl.BoolVar(&f.recording.Control, "control", false, "obey hold and go on standard input, for measurements")
	fl.StringVar(&f.eventLog, "event-log", "", "write the events that time is attributed by to this file, to replay them")
	for _, name := range []string{"rung", "control", "event-log"} {
		_ = fl.MarkHidden(name)
	}
	fl.SortFlags = false
}

func (f *recordFlags) addTasks(fl *pflag.FlagSet) {
	f.goroutines, f.tasks = true, true
	fl.Var(commandline.OnOff(&f.goroutines), "goroutines", "record goroutines that wait as blocked time, and the labels "+
		"of those that run; off: no other tasks either")
	fl.Var(commandline.OnOff(&f.tasks), "tasks",
		"record waiting virtual threads, asyncio tasks, greenlets and fibers as blocked time")
}

func (f *recordFlags) addRate(fl *pflag.FlagSet) {
	rate := commandline.Frequency(&f.recording.Sampler.Freq)
	fl.VarP(rate, "freq", "F", "sampling rate in Hz")
	fl.VarP(rate, "rate", "r", "the same as --freq")
}

// These limit what a command takes from its targets unless --max-overhead and --max-pause say otherwise.
const (
	defaultMaxOverhead = 0.02
	defaultMaxPause    = time.Millisecond
)

func (f *recordFlags) addLimits(fl *pflag.FlagSet) {
	f.recording.Sampler.MaxOverhead, f.recording.Sampler.MaxPause = defaultMaxOverhead, defaultMaxPause
	fl.Var(commandline.MaxShare(&f.recording.Sampler.MaxOverhead), "max-overhead",
		"lower the rate so that targets lose at most this share of their CPU time (2% and 2 are the same), or off")
	fl.Var(commandline.MaxTime(&f.recording.Sampler.MaxPause), "max-pause",
		"stop no thread if that is expected to take longer (no guarantee), or off")
	fl.BoolVar(&f.recording.Sampler.ReadOnly, "read-only", false, readOnlyUsage)
	fl.StringVar(&f.recording.Threads, "threads", "",
		"only threads whose name matches this regular expression, and no waiting goroutines and asyncio tasks")
	fl.IntVar(&f.recording.Sampler.MaxDepth, "max-depth", 1024, "frames of a stack at most")
}

func (f *recordFlags) addRotation(fl *pflag.FlagSet) {
	fl.Var(commandline.Seconds(&f.recording.Rotate), "rotate",
		"begin another recording after each such time, such as 1h: -o names them, with the time")
	fl.IntVar(&f.recording.Keep, "keep", 0,
		"with --rotate or --ring: keep so many files and remove the oldest (default all; with --ring 10)")
	fl.Var(commandline.Seconds(&f.recording.Ring), "ring",
		"keep only the last such time, as 60s, and write it by --on, at SIGUSR1 and at the end")
	fl.StringArrayVar(&f.on, "on", nil, "with --ring, repeatable: a `CONDITION`: "+condition.Forms)
}

// defaultRings is the number of files that --ring keeps.
const defaultRings = 10

func (f *recordFlags) checkRing(changed func(flag string) bool) error {
	switch {
	case len(f.on) > 0 && f.recording.Ring == 0:
		return errs.Usage("--on is for --ring: give both")
	case !changed("ring"):
		return nil
	case f.recording.Ring < time.Second:
		return errs.Usage("--ring %s: give at least 1s", f.recording.Ring)
	case f.recording.Rotate != 0 || f.recording.Aggregate || f.recording.Page != "" ||
		console.IsStdout(f.recording.Output):
		return errs.Usage("--ring cannot be combined with --rotate, --aggregate, --html or -o -")
	}
	if !changed("keep") {
		f.recording.Keep = defaultRings
	}
	for _, text := range f.on {
		c, err := condition.Parse(text)
		if err != nil {
			return errs.Usage("--on %s: %v", printable.Line(text), err)
		}
		f.recording.On = append(f.recording.On, c)
	}
	return nil
}

func (f *recordFlags) checkRotation(changed func(flag string) bool) error {
	switch {
	case changed("rotate") && f.recording.Rotate < time.Second:
		return errs.Usage("--rotate %s: give at least 1s", f.recording.Rotate)
	case changed("keep") && !changed("rotate") && !changed("ring"):
		return errs.Usage("--keep is for --rotate and --ring: give one of them")
	case changed("keep") && f.recording.Keep < 1:
		return errs.Usage("--keep %d: give at least 1", f.recording.Keep)
	case changed("rotate") && console.IsStdout(f.recording.Output):
		return errs.Usage("-o - takes one recording: give a file with --rotate")
	}
	return nil
}

func (f *recordFlags) run(cmd *cobra.Command, args []string) error {
	args = f.processes.takeArgument(cmd, args)
	launches := cmd.ArgsLenAtDash() >= 0 || len(args) > 0
	if err := cmp.Or(f.checkArguments(cmd, args, launches), f.setSampling()); err != nil {
		return err
	}
	if err := f.open(cmd, launches); err != nil {
		if launches {
			err = errs.Internal(err)
		}
		return err
	}
	defer f.closeEngine()
	return f.withEventLog(launches, func() error {
		if launches {
			return recording.RecordCommand(f.recording, args)
		}
		return recording.RecordProcesses(f.recording)
	})
}

// open sets the targets and opens the engine. Unless given, --children is on for a command, and rules for a group.
func (f *recordFlags) open(cmd *cobra.Command, launches bool) error {
	if !cmd.Flags().Changed("children") {
		f.recording.Sampler.Children = launches || f.processes.rule.All || f.processes.isGroup()
	}
	f.recording.Sampler.KernelStacks = !f.noKernel
	if err := f.processes.setTargets(); err != nil {
		return err
	}
	f.recording.PIDs, f.recording.ByRule = f.processes.pids, f.processes.finder != nil
	if f.recording.ByRule {
		f.recording.Sampler.Select = func() []int { return f.processes.finder.Find(procmem.BootTicks()) }
	}
	return f.openEngine()
}

// withEventLog calls run with the log of events open. A failure of the log has exit code 125 if a command is launched;
// an error of run comes first.
func (f *recordFlags) withEventLog(launches bool, run func() error) error {
	if f.eventLog == "" {
		return run()
	}
	var recorded error
	err := profile.WriteFileAtomic(f.eventLog, func(w io.Writer) error {
		log := bufio.NewWriter(w)
		f.recording.Sampler.EventLog = log
		recorded = run()
		return log.Flush()
	})
	if err = flagError("event-log", err); launches {
		err = errs.Internal(err)
	}
	return cmp.Or(recorded, err)
}

func (f *recordFlags) checkArguments(cmd *cobra.Command, args []string, launches bool) error {
	switch {
	case len(f.processes.pids) > 0 && launches:
		return errs.Usage("give either -p or a command, not both")
	case f.processes.name != "" && launches:
		return errs.Usage("give either -n or a command, not both")
	case f.processes.hasRule() && launches:
		return errs.Usage("give either what selects processes (%s) or a command, not both", ruleFlags)
	case len(f.processes.pids) == 0 && f.processes.name == "" && len(args) == 0 && !f.processes.wait &&
		!f.processes.hasRule():
		return errs.Usage("nothing to record: give -p PID or -n NAME, or a command after --")
	case launches && console.IsStdout(f.recording.Output):
		return errs.Usage("-o - cannot be used with a command, whose own output goes to stdout; give a file")
	case console.IsStdout(f.recording.Output) && console.IsTerminal(os.Stdout):
		return errs.Usage("-o - would write a binary file to the terminal; give a file, or a pipe")
	case isOneOutput(f.recording.Stats, f.recording.Output):
		return errs.Usage("-o and --stats name one file; give two")
	case isOneOutput(f.recording.Page, f.recording.Output), isOneOutput(f.recording.Page, f.recording.Stats):
		return errs.Usage("--html and -o or --stats name one file; give two")
	case f.recording.Page != "" && console.IsStdout(f.recording.Output):
		return errs.Usage("--html reads the recording when it is complete: give a file with -o")
	case f.recording.Page != "" && f.recording.Rotate != 0:
		return errs.Usage("--html is for one recording; with --rotate, prywalk report --html makes the page of each")
	case f.recording.Open && f.recording.Page == "":
		return errs.Usage("--open is for the page of --html: give both")
	case cmd.Flags().Changed("subset") && f.recording.Sampler.Subset < 1:
		return errs.Usage("--subset %d: give at least 1", f.recording.Sampler.Subset)
	}
	if f.recording.Open {
		if err := recording.CheckBrowser(); err != nil {
			err = fmt.Errorf("--open: %w; leave it out, and open the page yourself", err)
			if launches {
				err = errs.Internal(err)
			}
			return err
		}
	}
	return cmp.Or(f.checkRotation(cmd.Flags().Changed), f.checkRing(cmd.Flags().Changed))
}

func (f *recordFlags) setSampling() (err error) {
	if f.recording.Sampler.MaxDepth < 1 {
		return errs.Usage("--max-depth %d: give at least 1", f.recording.Sampler.MaxDepth)
	}
	f.recording.Sampler.Tasks, f.recording.Sampler.OnlyGoroutines = f.goroutines && f.recording.Threads == "", !f.tasks
	if f.recording.Sampler.Threads, err = view.Compile("threads", f.recording.Threads); err != nil {
		return err
	}
	if f.recording.Sampler.Mode, err = observe.ParseMode(f.mode); err != nil {
		return errs.Usage("--rung: %v", err)
	}
	return nil
}
