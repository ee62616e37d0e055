// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"

	rec "prywalk/internal/store/profile"
)

type stacks struct {
	n      float64
	whole  float64
	stages [len(stages)]float64
	top    map[string]float64
	ends   map[string]float64
}

func newStacks() stacks { return stacks{top: map[string]float64{}, ends: map[string]float64{}} }

const worker = "worker-"

var javaMarks = []string{"_[j]", "_[i]", "_[0]", "_[1]"}

func (s *stacks) readFolded(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseFloat(line[at+1:], 64)
		thread, rest, ok := strings.Cut(line[:max(at, 0)], ";")
		if err != nil || !ok || !strings.HasPrefix(thread, "["+worker) {
			continue
		}
		var methods []string
		names := strings.Split(rest, ";")
		for i, name := range names {
			for _, mark := range javaMarks {
				if bare, ok := strings.CutSuffix(name, mark); ok {
					methods = append(methods, strings.ReplaceAll(bare, "/", "."))
					names[i] = methods[len(methods)-1]
				}
			}
		}
		s.add(names[0], methods, n)
	}
}

func (s *stacks) readProfile(file string) error {
	p, err := parse(file)
	if err != nil {
		return err
	}
	for _, sample := range p.Sample {
		thread := sample.Label[rec.LabelThread]
		if len(thread) == 0 || !strings.HasPrefix(thread[0], worker) || sample.Value[0] == 0 ||
			!slices.Contains(sample.Label[rec.LabelState], "running") {
			continue
		}
		var methods []string
		first := ""
		for _, l := range slices.Backward(sample.Location) {
			for _, line := range slices.Backward(l.Line) {
				java := l.Mapping != nil && strings.HasPrefix(l.Mapping.File, "[HotSpot ") &&
					rec.FrameType(line.Function.Name, line.Function.SystemName) != "stub"
				if java {
					methods = append(methods, line.Function.Name)
				}
				if first == "" && (java || strings.HasPrefix(line.Function.Name, "[")) {
					first = line.Function.Name
				}
			}
		}
		s.add(first, methods, float64(sample.Value[0]))
	}
	return nil
}

func (s *stacks) add(first string, methods []string, n float64) {
	s.n += n
	if first == "java.lang.Thread.run" {
		s.whole += n
	} else {
		s.ends[first] += n
	}
	for i, stage := range stages {
		if slices.Contains(methods, "Shop."+stage) {
			s.stages[i] += n
		}
	}
	if len(methods) > 0 {
		s.top[methods[len(methods)-1]] += n
	}
}
