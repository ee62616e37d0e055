// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/store/profile"
	"prywalk/report"
)

type diffFlags struct {
	opts         report.DiffOptions
	json, folded bool
	html         string
	failAbove    float64
	before       []string
	after        []string
}

func newDiff() *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff {OLD NEW | -a A1,A2,… -b B1,B2,…}",
		Short: "compare two recordings: what became slower or faster",
		Long:  helpPage("diff"),
		Args:  func(_ *cobra.Command, args []string) error { return f.setFiles(args) },
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Flags().Changed) },
	}
	f.addTo(cmd.Flags())
	return cmd
}

func (f *diffFlags) setFiles(args []string) error {
	switch {
	case len(args) == 2 && len(f.before)+len(f.after) == 0:
		f.before, f.after = args[:1], args[1:]
	case len(f.before)+len(f.after) == 0:
		return errs.Usage("diff takes two files, OLD and NEW, not %d; several runs a side: -a A1,A2,A3 -b B1,B2,B3",
			len(args))
	case len(args) > 0:
		return errs.Usage("give either OLD and NEW, or -a and -b, not both: %q", args[0])
	case len(f.before) == 0 || len(f.after) == 0:
		return errs.Usage("-a and -b go together: the files of the earlier runs, and of the later")
	}
	seen := map[string]bool{}
	for _, file := range slices.Concat(f.before, f.after) {
		if file == "" {
			return errs.Usage("-a and -b take names of files, separated by commas; one of them is empty")
		}
		if file == "-" && seen[file] {
			return errs.Usage("only one of the recordings can come from standard input")
		}
		if seen[file] && len(f.before)+len(f.after) > 2 {
			return errs.Usage("%s is given twice: each run counts once", file)
		}
		seen[file] = true
	}
	return nil
}

func (f *diffFlags) addTo(fl *pflag.FlagSet) {
	fl.StringSliceVarP(&f.before, "old", "a", nil, "recordings of the earlier runs, several")
	fl.StringSliceVarP(&f.after, "new", "b", nil, "recordings of the later runs")
	fl.IntVarP(&f.opts.N, "rows", "n", 0, "rows of each table (20; -1: all)")
	fl.StringVar(&f.opts.Value, "value", "",
		"the clock: cpu, wall, runqueue, blocked or samples (by default the recordings' own)")
	fl.StringVar(&f.opts.Per, "per", "run",
		"compare what the whole run used, a second of it, or shares: run, second or share")
	fl.BoolVar(&f.opts.All, "all", false, "show all functions, also those without a significant change")
	fl.BoolVar(&f.opts.FullNames, "full-names", false, "do not shorten names to the terminal, or to 100 columns in a pipe")
	fl.BoolVar(&f.opts.Lines, "lines", false, "one row per source line instead of per function")
	fl.BoolVar(&f.opts.Native, "native", false, nativeUsage)
	fl.StringVar(&f.opts.Focus, "focus", "", "only stacks with a function, file or module that matches this expression")
	fl.StringVar(&f.opts.Ignore, "ignore", "", "leave out stacks that match")
	fl.StringVar(&f.opts.Thread, "thread", "", "only threads whose name or number matches")
	fl.StringVar(&f.opts.Process, "process", "", "only processes whose name or number matches")
	fl.BoolVar(&f.json, "json", false, "every function's change as JSON")
	fl.BoolVar(&f.folded, "folded", false, "one line a stack with both values, for flame graph scripts")
	fl.StringVar(&f.html, "html", "", "write one self-contained page with a flame graph of the change to this file")
	fl.Var(commandline.Percent(&f.failAbove), "fail-above",
		"exit with 6 where a function grew significantly, and by more than this share of the whole old run (not of the "+
			"function), such as 5% (5 is the same)")
	fl.SortFlags = false
}

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
		return errs.Usage("%s exclude each other; leave one of them out", strings.Join(forms, " and "))
	case changed("html") && f.html == "":
		return errs.Usage("--html needs the name of a file to write")
	case f.opts.All && len(forms) > 0:
		return errs.Usage("--all has no effect with %s, which has all; leave one of them out", forms[0])
	case f.opts.FullNames && len(forms) > 0:
		return errs.Usage("--full-names has no effect with %s; leave one of them out", forms[0])
	case changed("rows") && len(forms) > 0 && !f.json:
		return errs.Usage("--rows has no effect with %s; leave one of them out", forms[0])
	case changed("rows"):
		return checkRows(f.opts.N)
	}
	return nil
}

func (f *diffFlags) run(changed func(string) bool) error {
	if err := f.check(changed); err != nil {
		return err
	}
	slow := console.StartProgress(false, func() string {
		return "comparing " + strings.Join(f.before, ", ") + " and " + strings.Join(f.after, ", ") + " (Ctrl-C ends)"
	})
	defer slow.Stop()
	read := profile.ReadFile
	if len(f.before)+len(f.after) > 2 {
		read = profile.ReadCharged
	}
	a, err := readProfiles(f.before, read)
	if err != nil {
		return err
	}
	b, err := readProfiles(f.after, read)
	if err != nil {
		return err
	}
	f.opts.Color = console.UseColor(os.Stdout)
	if !f.opts.FullNames {
		f.opts.Width = console.Width(os.Stdout)
	}
	d, err := report.DiffRuns(a, b, f.opts)
	if err != nil {
		return err
	}
	if err := f.write(d, slow); err != nil {
		return err
	}
	if changed("fail-above") {
		return f.checkGrowth(d)
	}
	return nil
}

func (f *diffFlags) checkGrowth(d *report.Difference) error {
	growth, subject := d.LargestGrowth()
	doubt := ""
	if why := d.Untested(); why != "" {
		doubt = "; not tested for significance, since " + why
	} else if len(f.before)+len(f.after) == 2 {
		doubt = "; one run per side: noise between runs is unknown, and the total is not tested"
	}
	if doubt != "" {
		doubt += "; compare several with -a A1,A2,A3 -b B1,B2,B3"
	}
	text := report.GrowthText(growth, subject)
	if growth > f.failAbove {
		return errs.With(errs.ExitGrowthExceeded, "%s, more than --fail-above %s allows%s", text,
			commandline.FormatPercent(f.failAbove), doubt)
	}
	if least := d.FoundGrowth(); least != "" {
		doubt += ". " + least
	}
	found := "no significant growth"
	switch {
	case d.Untested() != "" && !d.ExceedsUntested():
		found = "whether something grew is not known"
	case growth > 0:
		found = "no more; " + text
	}
	console.Infof("--fail-above %s: %s%s", commandline.FormatPercent(f.failAbove), found, doubt)
	return nil
}

func readProfiles(paths []string, read func(string) (*pprof.Profile, error)) (all []*pprof.Profile, err error) {
	for _, path := range paths {
		p, err := withReadRemedy(read(path))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (f *diffFlags) write(d *report.Difference, progress *console.Progress) error {
	if f.html != "" {
		return flagError("html", profile.WriteFileAtomic(f.html, d.HTML))
	}
	progress.Stop()
	return console.Print(func(w io.Writer) error {
		switch {
		case f.json:
			return d.JSON(w)
		case f.folded:
			return d.Folded(w)
		}
		return d.Table(w)
	})
}
