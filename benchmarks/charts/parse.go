// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
)

type row struct {
	workload, tool, threads string
	running, hz             int
	ratio, low, high        float64 // throughput with the tool ÷ without; 95 % interval
}

// processors describes whether one processor was spare; the machine of the tables has two.
func (r row) processors() string {
	if r.running >= 2 {
		return "none to spare"
	}
	return "a processor to spare"
}

// Columns of a table of ratios, as internal/bench writes it.
const (
	colTool = iota
	colThreads
	colRunning
	colHz
	colPairs
	colRatio
	colInterval
)

// parse reads the tables of ratios of a page. The heading above a table is its workload. Other tables are skipped;
// an unreadable line in a table of ratios is an error.
func parse(page string) ([]row, error) {
	var rows []row
	workload, inside := "", false
	for i, line := range strings.Split(page, "\n") {
		if name, ok := strings.CutPrefix(line, "### Workload "); ok {
			workload = name
		} else if name, ok := strings.CutPrefix(line, "## Workload "); ok {
			workload = name
		}
		switch {
		case strings.HasPrefix(line, "| tool | threads | running | Hz | pairs |"):
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && !strings.HasPrefix(line, "| ---"):
			r, err := parseRow(workload, line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no table of ratios: make bench-docs writes them")
	}
	return rows, nil
}

func parseRow(workload, line string) (row, error) {
	cells := strings.Split(strings.Trim(line, "| "), "|")
	if len(cells) <= colInterval {
		return row{}, fmt.Errorf("%d columns, %d are needed", len(cells), colInterval+1)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	r := row{workload: workload, tool: cells[colTool], threads: cells[colThreads]}
	low, high, ok := strings.Cut(cells[colInterval], " to ")
	if !ok {
		return row{}, fmt.Errorf("%q is no interval", cells[colInterval])
	}
	high, _, _ = strings.Cut(high, " ")
	var err error
	number := func(text string) float64 {
		v, e := strconv.ParseFloat(text, 64)
		if e != nil && err == nil {
			err = e
		}
		return v
	}
	r.running, r.hz = int(number(cells[colRunning])), int(number(cells[colHz]))
	r.ratio, r.low, r.high = number(cells[colRatio]), number(low), number(high)
	return r, err
}
