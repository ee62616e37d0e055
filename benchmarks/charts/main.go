// SPDX-License-Identifier: Apache-2.0

// Command charts draws the charts of docs/performance.md from benchmarks/results/overhead-rows.tsv.
//
//	go -C benchmarks run ./charts   from the root of the repository
package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"prywalk/benchmarks/command"
)

const results = "benchmarks/results/overhead-rows.tsv"

type chart struct {
	file, title string
	rows        func(r row) bool
	label       func(r row) string
	order       func(a, b row) int
}

func asTheyAre(_, _ row) int { return 0 }
func byRate(a, b row) int    { return cmp.Compare(a.hz, b.hz) }
func byRunning(a, b row) int { return cmp.Compare(a.running, b.running) }

var usual = map[string]bool{"redis": true, "postgres": true, "goserver": true, "python": true, "jvm": true, "c": true}

var worst = map[string]bool{"busy": true, "locks": true, "wake": true}

var charts = []chart{
	{
		"cost.svg", "Throughput left at 100 Hz, of six programs",
		func(r row) bool { return r.tool == "prywalk" && usual[r.workload] && r.hz == 100 },
		func(r row) string { return fmt.Sprintf("%s, %s threads, %d at work", r.workload, r.threads, r.running) },
		asTheyAre,
	},
	{
		"threads.svg", "Against the number of threads, at 100 Hz",
		func(r row) bool { return r.tool == "prywalk" && r.workload == "busy" && r.hz == 100 },
		func(r row) string { return fmt.Sprintf("%s threads, %s", r.threads, r.processors()) },
		byRunning,
	},
	{
		"rate.svg", "Against the rate",
		func(r row) bool {
			return r.tool == "prywalk" && r.threads == "100" && worst[r.workload]
		},
		func(r row) string { return fmt.Sprintf("%s, %d at work, %d Hz", r.workload, r.running, r.hz) },
		asTheyAre,
	},
	{
		"tools.svg", "Beside other tools: a C program, 100 threads, 2 of them at work on 2 processors",
		func(r row) bool { return r.workload == "c" && r.running == 2 },
		func(r row) string { return fmt.Sprintf("%s, %d Hz", r.tool, r.hz) },
		byRate,
	},
}

func main() {
	err := command.AtRoot()
	if err == nil {
		err = draw(results, "docs/charts")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

func draw(file, dir string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rows, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range charts {
		picture, err := c.svg(rows)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(picture), 0o644); err != nil {
			return err
		}
	}
	return nil
}
