package main

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/internal/console"
	"prywalk/internal/exit"
	"prywalk/internal/profile"
	"prywalk/report"
)

// diffFlags are what the command line of diff says.
type diffFlags struct {
	opts         report.DiffOptions
	json, folded bool
	html         string
	failAbove    growth
}

// growth is a flag that takes a percentage (5% or 5) or a fraction below 1 (0.05).
type growth float64

// String implements pflag.Value.
func (g *growth) String() string { return strconv.FormatFloat(100*float64(*g), 'g', -1, 64) + "%" }

// Set implements pflag.Value.
func (g *growth) Set(text string) error {
	num, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(num, 64)
	if percent || v >= 1 {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 1e6) {
		return exit.Usage("%q is no growth: give a percentage such as 5%%", text)
	}
	*g = growth(v)
	return nil
}

// Type implements pflag.Value.
func (g *growth) Type() string { return "PERCENT" }

func newDiff() *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "what became slower and faster between two recordings",
		Long: `  prywalk diff yesterday.pb.gz today.pb.gz
  prywalk diff --html page.html old.pb.gz new.pb.gz
  prywalk diff --per share --fail-above 2% base.pb.gz branch.pb.gz

Compares two recordings, or other pprof files, function by function, and shows what
changed by more than the error of sampling. What differs from run to run for other
reasons, two recordings cannot tell. If they are of different length, compare what a
second used (--per second), or shares (--per share). With --fail-above the exit code is
6 where the whole, or a function, surely grew by more than that share of the old whole.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Usage("diff takes two files, OLD and NEW, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], args[1], cmd.Flags().Changed)
		},
	}
	f.define(cmd.Flags())
	return cmd
}

func (f *diffFlags) define(fl *pflag.FlagSet) {
	fl.IntVarP(&f.opts.N, "rows", "n", 0, "rows of each table (20; -1: all)")
	fl.StringVar(&f.opts.Value, "value", "",
		"the clock: cpu, wall, runqueue, blocked or samples (by default the recordings' own)")
	fl.StringVar(&f.opts.Per, "per", "run",
		"compare what the whole run used, a second of it, or shares: run, second or share")
	fl.BoolVar(&f.opts.All, "all", false, "show also what the error of sampling explains")
	fl.BoolVar(&f.opts.Lines, "lines", false, "tell the lines of a function apart")
	fl.BoolVar(&f.opts.Native, "native", false, nativeUsage)
	fl.StringVar(&f.opts.Focus, "focus", "", "only stacks with a function, file or module that matches this expression")
	fl.StringVar(&f.opts.Ignore, "ignore", "", "without the stacks that match")
	fl.StringVar(&f.opts.Thread, "thread", "", "only threads whose name or number matches")
	fl.StringVar(&f.opts.Process, "process", "", "only processes whose name or number matches")
	fl.BoolVar(&f.json, "json", false, "every function's change as JSON")
	fl.BoolVar(&f.folded, "folded", false, "one line a stack with both values, for flame graph scripts")
	fl.StringVar(&f.html, "html", "", "write one self-contained page with a flame graph of the change to this file")
	fl.Var(&f.failAbove, "fail-above", "exit with 6 where something surely grew by more than this share of the old whole")
	fl.SortFlags = false
}

// check refuses flags that exclude each other or have no effect.
func (f *diffFlags) check(changed func(string) bool) error {
	var forms []string
	for _, form := range []struct {
		flag string
		on   bool
	}{{"--json", f.json}, {"--folded", f.folded}, {"--html", changed("html")}} {
		if form.on {
			forms = append(forms, form.flag)
		}
	}
	switch {
	case len(forms) > 1:
		return exit.Usage("%s exclude each other; leave one of them out", strings.Join(forms, " and "))
	case changed("html") && f.html == "":
		return exit.Usage("--html needs the name of a file to write")
	case f.opts.All && len(forms) > 0:
		return exit.Usage("--all has no effect with %s, which has all; leave one of them out", forms[0])
	case changed("rows") && len(forms) > 0 && !f.json:
		return exit.Usage("--rows has no effect with %s; leave one of them out", forms[0])
	}
	return nil
}

func (f *diffFlags) run(older, newer string, changed func(string) bool) error {
	if err := f.check(changed); err != nil {
		return err
	}
	if older == "-" && newer == "-" {
		return exit.Usage("only one of the two recordings can come from standard input")
	}
	slow := console.StartSlow(false, func() string { return "comparing " + older + " and " + newer + " (Ctrl-C ends)" })
	defer slow.Stop()
	a, err := readProfile(older)
	if err != nil {
		return err
	}
	b, err := readProfile(newer)
	if err != nil {
		return err
	}
	f.opts.Color, f.opts.Width = console.UseColor(os.Stdout), console.Width(os.Stdout)
	d, err := report.Diff(a, b, f.opts)
	if err != nil {
		return err
	}
	if err := f.write(d, slow); err != nil {
		return err
	}
	if worst, what := d.Worst(); changed("fail-above") && worst > float64(f.failAbove) {
		return exit.With(exit.Slower, "%s grew by %.1f %% of the old whole, more than the %s of --fail-above",
			what, 100*worst, f.failAbove.String())
	}
	return nil
}

// write writes the form that is asked for.
func (f *diffFlags) write(d *report.Difference, slow *console.Slow) error {
	if f.html != "" {
		return profile.WriteFileAtomic(f.html, d.HTML)
	}
	return console.Paged(f.json || f.folded, func(w io.Writer) error {
		w = console.BeforeFirst(w, slow.Stop)
		switch {
		case f.json:
			return d.JSON(w)
		case f.folded:
			return d.Folded(w)
		}
		return d.Table(w)
	})
}
