package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"prywalk/internal/profile"
	"prywalk/report"
)

// reportFlags are what the command line of report says.
type reportFlags struct {
	opts                      report.Options
	tree, folded              bool
	html, speedscope, firefox string
	pgo, http, source         string
}

func newReport() *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report [FILE]",
		Short: "show a recording: table, tree, flame graph, other tools' formats",
		Long: `  prywalk report
  prywalk report --html page.html
  prywalk report --value wall --by wait server.pb.gz
  prywalk report --folded | flamegraph.pl > graph.svg

Shows where the time goes: for each function, what it used itself and with all that
it called. FILE is prywalk.pb.gz unless given; any pprof file will do, and - reads
standard input.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("report takes one file, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "prywalk.pb.gz"
			if len(args) == 1 {
				path = args[0]
			}
			return f.run(path)
		},
	}
	fl := cmd.Flags()
	fl.IntVarP(&f.opts.N, "rows", "n", 0, "rows of the table (30, or 5 a group)")
	fl.StringVar(&f.opts.By, "by", "", "group by thread, process, state, wait or module")
	fl.StringVar(&f.opts.Value, "value", "", "cpu, wall, runqueue or samples (default: the recording's own)")
	fl.StringVar(&f.opts.Focus, "focus", "", "only stacks with a function, file or module that matches")
	fl.StringVar(&f.opts.Ignore, "ignore", "", "without the stacks that match")
	fl.BoolVar(&f.opts.Lines, "lines", false, "tell the lines of a function apart")
	fl.BoolVar(&f.tree, "tree", false, "the call tree")
	fl.BoolVar(&f.folded, "folded", false, "one line a stack, for flame graph scripts")
	fl.StringVar(&f.html, "html", "", "write one self-contained page with a flame graph to this file")
	fl.StringVar(&f.speedscope, "speedscope", "", "write a file for speedscope")
	fl.StringVar(&f.firefox, "firefox", "", "write a file for the Firefox Profiler")
	fl.StringVar(&f.pgo, "pgo", "", "write a profile for go build -pgo")
	fl.StringVar(&f.http, "http", "", "serve pprof's web pages at this address, such as localhost:8080")
	fl.StringVar(&f.source, "source", "", "with --http: show source files below this directory")
	fl.SortFlags = false
	return cmd
}

// run reads the recording and writes the form that is asked for.
func (f *reportFlags) run(path string) error {
	if err := f.check(); err != nil {
		return err
	}
	p, err := readProfile(path)
	if err != nil {
		return err
	}
	forms := []struct {
		path  string
		write func(io.Writer) error
	}{
		{f.html, func(w io.Writer) error { return report.HTML(w, p, f.opts) }},
		{f.speedscope, func(w io.Writer) error { return report.Speedscope(w, p, f.opts) }},
		{f.firefox, func(w io.Writer) error { return report.Firefox(w, p, f.opts) }},
		{f.pgo, func(w io.Writer) error { return report.PGO(w, p) }},
	}
	written := false
	for _, form := range forms {
		if form.path == "" {
			continue
		}
		written = true
		if err := profile.WriteFileAtomic(form.path, form.write); err != nil {
			return err
		}
	}
	switch {
	case f.http != "":
		return report.ServeHTTP(f.http, p, report.HTTPOptions{Source: f.source, Log: os.Stderr})
	case written:
		return nil
	}
	return f.text(p)
}

// check refuses values that no profile can serve.
func (f *reportFlags) check() error {
	if f.tree && f.folded {
		return usageError("choose one of --tree and --folded")
	}
	if f.source != "" && f.http == "" {
		return usageError("--source DIR is for --http ADDR")
	}
	switch f.opts.By {
	case "", "thread", "process", "state", "wait", "module":
		return nil
	}
	return usageError("--by %q: choose thread, process, state, wait or module", f.opts.By)
}

// text writes one of the forms for people to standard output.
func (f *reportFlags) text(p *pprof.Profile) error {
	out := bufio.NewWriter(os.Stdout)
	f.opts.Color = useColor(os.Stdout)
	f.opts.Width = terminalWidth(os.Stdout)
	var err error
	switch {
	case f.tree:
		err = report.Tree(out, p, f.opts)
	case f.folded:
		err = report.Folded(out, p, f.opts)
	default:
		err = report.Table(out, p, f.opts)
	}
	if err == nil {
		err = out.Flush()
	}
	if errors.Is(err, unix.EPIPE) { // head has seen enough
		return nil
	}
	return err
}

// readProfile reads a file, - for standard input.
func readProfile(path string) (*pprof.Profile, error) {
	p, err := profile.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w; make a recording with prywalk record, or name its file", err)
	}
	return p, err
}

// terminalWidth gives the columns of a terminal, 0 for anything else.
func terminalWidth(f *os.File) int {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}
