// SPDX-License-Identifier: Apache-2.0

// Command page measures in headless Chromium the page of `prywalk report --html` for large recordings:
//
//	go -C benchmarks run ./page               an hour of 100 threads, a day of 10, 120,000 stacks (tens of minutes)
//	go -C benchmarks run ./page -only hour
//	go -C benchmarks run ./page -docs benchmarks/results/page.md
//
// Recordings are synthetic: made by the writer of real ones, the same each time. Each page is made with and without
// `--source-dir`, and opened -n times (five), at the flame graph. Times are as the user sees them; beside them is the
// CPU time of the page's thread, by the browser's account, which a busy host does not lengthen.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
)

var (
	only    = flag.String("only", "", "of hour,day,stacks; else all")
	docs    = flag.String("docs", "", "put the table between the markers of this page")
	binary  = flag.String("binary", "", "prywalk's file; else it is built")
	browser = flag.String("chromium", "chromium", "the browser")
	length  = flag.Duration("length", 24*time.Hour, "make recordings of at most this length")
	opens   = flag.Int("n", 5, "open each page so many times; figures are medians")
	limit   = flag.Duration("limit", time.Hour, "end after this time")
)

func main() { command.Main("page", run) }

func run(ctx context.Context, args []string) error {
	if err := flag.CommandLine.Parse(args); err != nil {
		return err
	}
	var known []string
	for _, s := range sizes {
		known = append(known, s.name)
	}
	chosen, err := command.Only(*only, known)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "prywalk-page-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *binary, err = command.Prywalk(*binary, dir); err != nil {
		return err
	}
	return report(ctx, dir, chosen)
}

func report(ctx context.Context, dir string, chosen []string) error {
	text := fmt.Sprintf("%s, Linux %s, load average %.1f before.\n\n", machine.CPUModel(), machine.Kernel(),
		machine.Load())
	table := markdown.NewTable("recording", "running intervals", "made in, s", "page, MB", "n", "first paint, ms",
		"load, CPU ms", "selection, CPU ms", "p50, ms", "max, ms", "zoom, CPU ms", "draw, CPU ms", "frames/s",
		"selection at the waits, CPU ms")
	if err := writeSource(dir); err != nil {
		return err
	}
	for _, s := range sizes {
		if !slices.Contains(chosen, s.name) {
			continue
		}
		s.length = min(s.length, *length)
		if err := measure(ctx, dir, s, table); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	text += table.String()
	fmt.Print(text)
	if *docs == "" {
		return nil
	}
	return markdown.ReplaceSection(*docs, "page", func(string) string { return text })
}

// measure adds a row for the page without and one for that with source lines.
func measure(ctx context.Context, dir string, s size, table *markdown.Table) error {
	file, page := filepath.Join(dir, s.name+".pb.gz"), filepath.Join(dir, s.name+".html")
	intervals, err := s.write(file)
	if err != nil {
		return err
	}
	for _, more := range [][]string{nil, {"--source-dir", dir}} {
		before := time.Now()
		c := exec.CommandContext(ctx, *binary, append([]string{"report", file, "--html", page}, more...)...)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		made := time.Since(before)
		st, err := os.Stat(page)
		if err != nil {
			return err
		}
		opened := make([]figures, max(1, *opens))
		for i := range opened {
			if opened[i], err = inBrowser(ctx, page); err != nil {
				return err
			}
		}
		name := s.name
		if more != nil {
			name += ", `--source-dir`"
		}
		table.Row(append([]string{name, fmt.Sprint(intervals), fmt.Sprintf("%.1f", made.Seconds()),
			fmt.Sprintf("%.2f", float64(st.Size())/1e6), fmt.Sprint(len(opened))}, cells(opened)...)...)
	}
	return nil
}
