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

func (r row) processors() string {
	if r.running >= 2 {
		return "none to spare"
	}
	return "a processor to spare"
}

const (
	colWorkload = iota
	colTool
	colThreads
	colRunning
	colHz
	colPairs
	colRatio
	colInterval
)

const heading = "workload\ttool\tthreads\trunning\tHz\tpairs\tthroughput with / without\t95 % interval\t"

func parse(text string) ([]row, error) {
	var rows []row
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !strings.HasPrefix(lines[0], heading) {
		return nil, fmt.Errorf("no rows of ratios: make bench-docs writes them")
	}
	for i, line := range lines[1:] {
		r, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no rows of ratios: make bench-docs writes them")
	}
	return rows, nil
}

func parseRow(line string) (row, error) {
	cells := strings.Split(line, "\t")
	if len(cells) <= colInterval {
		return row{}, fmt.Errorf("%d columns, %d are needed", len(cells), colInterval+1)
	}
	r := row{workload: cells[colWorkload], tool: cells[colTool], threads: cells[colThreads]}
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
