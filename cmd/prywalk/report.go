// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/store/profile"
	"prywalk/internal/store/profilenames"
	"prywalk/report"
)

type reportFlags struct {
	opts                        report.Options
	from, to                    commandline.Moment
	tree, folded, json, account bool
	blame, chains               bool
	files                       [len(fileForms)]string // paths, "" for none
	callers, callees, slow      string
	stays                       report.StayOptions
	source                      string
	symbols                     []string
	changed                     func(flag string) bool // not as --flag=false
	progress                    *console.Progress
}

// textForm is a form of the text. It excludes the others, but for --tree with --json; fileForms may be combined.
type textForm struct {
	// flag without dashes; "" is the table
	flag string
	// with lists the effective formFlags.
	with  string
	write func(*reportFlags, io.Writer, *pprof.Profile) error
}

// textForms are in the order of precedence: --json --tree is JSON.
var textForms = [...]textForm{
	{"chains", "rows",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error { return report.Chains(w, p, f.json, f.opts) }},
	{"slow", "rows",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error {
			return report.Stays(w, p, f.slow, f.stays, f.json, f.opts)
		}},
	{"json", "rows by sort value ci lines",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error { return report.JSON(w, p, f.tree, f.opts) }},
	{"tree", "rows full-names value lines",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error { return report.Tree(w, p, f.opts) }},
	{"folded", "value lines",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error { return report.Folded(w, p, f.opts) }},
	{"account", "",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error { return report.Account(w, p, f.opts) }},
	{"callers", "rows full-names value ci lines",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error {
			return report.Callers(w, p, f.callers, f.opts)
		}},
	{"callees", "rows full-names value ci lines",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error {
			return report.Callees(w, p, f.callees, f.opts)
		}},
	{"source", "value source-dir",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error {
			return report.Source(w, p, f.source, f.opts)
		}},
	{"", "rows by sort full full-names value ci lines",
		func(f *reportFlags, w io.Writer, p *pprof.Profile) error { return report.Table(w, p, f.opts) }},
}

const nativeUsage = "also show the runtime's own frames, such as Python's interpreter loop"

func newReport() *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report [FILE…]",
		Short: "show a recording: table, tree, flame graph, other tools' formats",
		Long:  helpPage("report"),
		Args: func(cmd *cobra.Command, args []string) error {
			for i, file := range args {
				switch {
				case file == "":
					return errs.Usage("the name of the recording is empty; leave it out for %s, or give one", recordingName)
				case slices.Contains(args[:i], file):
					return errs.Usage("%s is given twice; prywalk diff compares two recordings", file)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{recordingName}
			}
			if file := strings.Join(args, " "); file != recordingName && !slices.Contains(args, "-") {
				f.opts.File = file
			}
			f.changed = func(name string) bool {
				flag := cmd.Flags().Lookup(name)
				return flag.Changed && (flag.Value.Type() != "bool" || flag.Value.String() == "true")
			}
			return f.run(args)
		},
	}
	f.addTo(cmd.Flags())
	return cmd
}

func (f *reportFlags) addTo(fl *pflag.FlagSet) {
	fl.IntVarP(&f.opts.N, "rows", "n", 0,
		"rows of the table (30, or 5 a group, at most 40 groups; with --by wait: groups, 10; -1: all)")
	fl.StringVar(&f.opts.By, "by", "", "group by "+joinWords(report.Groupings())+
		"; by the program's labels: label, or one: label:NAME")
	fl.StringVar(&f.opts.Value, "value", "",
		"the clock: cpu, wall, runqueue, blocked or samples (by default the recording's own, mostly cpu; where it is "+
			"about waits, wall)")
	fl.StringVar(&f.opts.Sort, "sort", "", "order of the functions: self or total (self unless given; of sleepers, the "+
		"program's functions come first)")
	fl.BoolVar(&f.opts.Full, "full", false, "all functions of a program in Python, Java, JavaScript, Ruby or PHP, not "+
		"its own ones with libraries folded")
	fl.BoolVar(&f.blame, "blame", false, "what lock owners did while other threads waited")
	fl.BoolVar(&f.chains, "chains", false, "follow what threads waited for to its end, across processes")
	fl.BoolVar(&f.opts.NoIdle, "no-idle", false, "with --by wait: do not sort idle waits last")
	fl.BoolVar(&f.opts.Intervals, "ci", false, "shares with their 95% confidence interval: 25.0% ±1.6")
	fl.BoolVar(&f.opts.Lines, "lines", false, "one row per source line instead of per function")
	fl.BoolVar(&f.opts.Native, "native", false, nativeUsage)
	fl.BoolVar(&f.opts.FullNames, "full-names", false, "do not shorten names to the terminal, or to 100 columns in a pipe")
	fl.Var(commandline.RecordingTime(&f.from), "from",
		"leave out everything before this time of the recording (2s), or of the day (03:00, 2026-11-28T03:00)")
	fl.Var(commandline.RecordingTime(&f.to), "to", "leave out everything after this time")
	fl.StringVar(&f.opts.Focus, "focus", "", "only stacks with a function, file or module that matches this expression")
	fl.StringVar(&f.opts.Ignore, "ignore", "", "leave out stacks that match")
	fl.StringVar(&f.opts.Thread, "thread", "", "only threads whose name or number matches")
	fl.StringVar(&f.opts.Process, "process", "", "only processes whose name or number matches")
	fl.StringVar(&f.opts.State, "state", "", "only threads while running, sleeping, disk or stopped")
	fl.StringVar(&f.opts.Wait, "wait", "", "only threads sleeping in matching calls, such as futex")
	fl.BoolVar(&f.tree, "tree", false, "the call tree")
	fl.StringVar(&f.callers, "callers", "", "call tree of this function's callers")
	fl.StringVar(&f.callees, "callees", "", "call tree of this function's callees")
	fl.StringVar(&f.slow, "slow", "", "how long threads stayed in this function, and what slow stays did")
	fl.Var(commandline.Seconds(&f.stays.Window), "window", "with --slow: the windows of this length with most time in "+
		"slow stays")
	fl.Var(commandline.Seconds(&f.stays.Over), "over", "with --slow: longer stays are slow (the longest 1% unless given)")
	fl.StringVar(&f.source, "source", "", "the lines of the functions that match")
	fl.StringVar(&f.opts.SourceDir, "source-dir", "", "with --source or --html: show the source files below this "+
		"directory")
	fl.StringArrayVar(&f.symbols, "symbols", nil, "names from this ELF file: the program before strip, or its debug file "+
		"(same build id; may be repeated)")
	fl.BoolVar(&f.json, "json", false, "the table as JSON; also with --tree and --by")
	fl.BoolVar(&f.folded, "folded", false, "one line a stack, for flame graph scripts")
	fl.BoolVar(&f.account, "account", false, "how the recording was made: samples, stops and their length, losses")
	for i := range fileForms {
		fl.StringVar(&f.files[i], fileForms[i].flag, "", fileForms[i].usage)
	}
	fl.SortFlags = false
}

func (f *reportFlags) run(paths []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.opts.SourceDir != "" {
		if err := checkDirectory("source-dir", f.opts.SourceDir, "give the one that the source files are below"); err != nil {
			return err
		}
	}
	path := strings.Join(paths, " ")
	f.progress = console.StartProgress(false, func() string { return "reading " + path + " (Ctrl-C ends)" })
	defer f.progress.Stop()
	all, err := readProfiles(paths, profile.ReadFile)
	if err != nil {
		return err
	}
	p, err := profile.Join(all)
	if err == nil {
		err = f.setWindow(p)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, file := range f.symbols {
		if err := profilenames.AddFrom(p, file); err != nil {
			return fmt.Errorf("--symbols: %w", err)
		}
	}
	if f.blame {
		if p, err = report.Blame(p, &f.opts); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if f.opts.By == "" && !f.tree && !f.folded && !f.writesFiles() {
			f.opts.By = "lock"
		}
	}
	if f.writesFiles() {
		return f.writeFiles(p)
	}
	return f.writeText(p)
}

func (f *reportFlags) writeText(p *pprof.Profile) error {
	f.opts.Color = console.UseColor(os.Stdout)
	if !f.opts.FullNames {
		f.opts.Width = console.Width(os.Stdout)
	}
	f.progress.Stop()
	return console.Print(func(w io.Writer) error {
		i := slices.IndexFunc(textForms[:], func(form textForm) bool { return form.flag == "" || f.changed(form.flag) })
		return textForms[i].write(f, w, p)
	})
}

const recordingName = "prywalk.pb.gz"

// setWindow sets the part that --from and --to select, by the begin and end of the recording.
func (f *reportFlags) setWindow(p *pprof.Profile) (err error) {
	begin := time.Unix(0, p.TimeNanos)
	end := begin.Add(time.Duration(p.DurationNanos))
	f.opts.From = f.from.Since(begin, end)
	f.opts.To, err = f.to.End(begin, end)
	if err == nil && f.opts.To > 0 && f.opts.From >= f.opts.To {
		return errs.Usage("--from %s is not before --to %s", &f.from, &f.to)
	}
	return err
}

func readProfile(path string) (*pprof.Profile, error) { return withReadRemedy(profile.ReadFile(path)) }

func withReadRemedy(p *pprof.Profile, err error) (*pprof.Profile, error) {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%w; make a recording with prywalk record, or name its file", err)
	case errors.Is(err, profile.ErrFormat):
		return nil, fmt.Errorf("%w; name a recording, or make one with prywalk record -o FILE", err)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w; read it as its owner or as root", err)
	case errors.Is(err, unix.EISDIR):
		return nil, fmt.Errorf("%w; name a file in it", err)
	}
	return p, err
}

type fileForm struct {
	flag, usage string
	with        string // the effective formFlags
	write       func(io.Writer, *pprof.Profile, report.Options) error
	file        func(path string, write func(io.Writer) error) error
}

var fileForms = [...]fileForm{
	{"html", "write one self-contained page with a flame graph to this file", "value lines source-dir",
		report.HTML, profile.WriteFileAtomic},
	{"speedscope", "write a file for speedscope", "value", report.Speedscope, profile.WriteFileAtomic},
	{"firefox", "write a file for the Firefox Profiler", "value", report.Firefox, profile.WriteFileAtomic},
	{"perfetto", "write a trace for ui.perfetto.dev: each thread's stacks and states, each process's clocks", "",
		report.Perfetto, profile.WriteFileAtomic},
	{"otlp", "write an OpenTelemetry profile (OTLP, v1development, binary protobuf)", "",
		report.OTLP, profile.WriteFileAtomic},
	{"pgo", "write a profile for go build -pgo", "", report.PGO, profile.WritePGO},
}

func (f *reportFlags) writesFiles() bool { return f.files != [len(fileForms)]string{} }

func (f *reportFlags) writeFiles(p *pprof.Profile) error {
	for i, path := range f.files {
		if path == "" {
			continue
		}
		form := &fileForms[i]
		err := form.file(path, func(w io.Writer) error { return form.write(w, p, f.opts) })
		if err != nil {
			return flagError(form.flag, err)
		}
	}
	return nil
}
