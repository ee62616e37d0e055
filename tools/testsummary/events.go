// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json (go doc test2json). The events of builds have an ImportPath instead of a Package.
type event struct {
	Time                                      time.Time
	Action, Package, Test, Output, ImportPath string
	FailedBuild                               string
	Elapsed                                   float64
}

// name is that of a test in its package; test is "" for the package itself.
type name struct{ pkg, test string }

type outcome struct {
	name
	result  string // the action that ended it; "" if nothing did
	elapsed float64
	output  strings.Builder
}

// function is the name of the test function of a test or subtest.
func (n name) function() name {
	function, _, _ := strings.Cut(n.test, "/")
	return name{n.pkg, function}
}

// run is what one run of go test, or several in a row, told.
type run struct {
	tests, packages map[name]*outcome
	builds          map[string]*strings.Builder // output of builds by import path
	begin, end      time.Time
}

// read takes lines that are no events as text of go itself, and leaves them out.
func read(r io.Reader) (*run, error) {
	all := &run{tests: map[name]*outcome{}, packages: map[name]*outcome{}, builds: map[string]*strings.Builder{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 && json.Unmarshal(line, &e) == nil {
			all.add(&e)
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *run) add(e *event) {
	if !e.Time.IsZero() {
		if r.begin.IsZero() {
			r.begin = e.Time
		}
		r.end = e.Time
	}
	if e.Action == "build-output" {
		if r.builds[e.ImportPath] == nil {
			r.builds[e.ImportPath] = &strings.Builder{}
		}
		r.builds[e.ImportPath].WriteString(e.Output)
	}
	if e.Package == "" {
		return
	}
	n, of := name{e.Package, e.Test}, r.tests
	if e.Test == "" {
		of = r.packages
	}
	o := of[n]
	if o == nil {
		o = &outcome{name: n}
		of[n] = o
	}
	switch e.Action {
	case "output":
		o.output.WriteString(e.Output)
	case "fail":
		o.result, o.elapsed = "fail", o.elapsed+e.Elapsed
		if text := r.builds[e.FailedBuild]; text != nil {
			o.output.WriteString(text.String())
		}
	case "pass", "skip":
		o.elapsed += e.Elapsed
		if o.result != "fail" { // -count: of several runs one that failed counts
			o.result = e.Action
		}
	case "run", "start":
		if o.result != "fail" {
			o.result = ""
		}
	}
}

func sorted(outcomes map[name]*outcome) []*outcome {
	return slices.SortedFunc(maps.Values(outcomes), func(a, b *outcome) int {
		if c := strings.Compare(a.pkg, b.pkg); c != 0 {
			return c
		}
		return strings.Compare(a.test, b.test)
	})
}

// failures are what is run again: for each function with failed tests the one that failed in it, or the whole function
// if several did. A test whose subtest failed failed by that.
func (r *run) failures() []*outcome {
	leaves := map[name][]*outcome{}
	var order []name
	for _, o := range sorted(r.tests) {
		if o.result != "fail" || r.hasFailedSubtest(o.name) {
			continue
		}
		f := o.function()
		if leaves[f] == nil {
			order = append(order, f)
		}
		leaves[f] = append(leaves[f], o)
	}
	var all []*outcome
	for _, f := range order {
		if len(leaves[f]) == 1 {
			all = append(all, leaves[f][0])
			continue
		}
		whole := &outcome{name: f, result: "fail"}
		if o := r.tests[f]; o != nil {
			whole.elapsed = o.elapsed
		}
		for _, o := range leaves[f] {
			whole.output.WriteString(o.output.String())
		}
		all = append(all, whole)
	}
	return all
}

func (r *run) hasFailedSubtest(n name) bool {
	for other, o := range r.tests {
		if other.pkg == n.pkg && o.result == "fail" && strings.HasPrefix(other.test, n.test+"/") {
			return true
		}
	}
	return false
}

// broken are the packages whose failure running a test again cannot refute: they were not built, a panic or the time
// limit ended them before their last test, or they failed without a failed test.
func (r *run) broken() []*outcome {
	var all []*outcome
	for _, p := range sorted(r.packages) {
		failed, unended := 0, ""
		for _, o := range sorted(r.tests) {
			switch {
			case o.pkg != p.pkg:
			case o.result == "fail":
				failed++
			case o.result == "":
				unended = o.test
			}
		}
		switch {
		case p.result == "":
			p.output.WriteString("the package did not end\n")
		case p.result == "fail" && unended != "":
			p.output.WriteString(unended + " did not end\n")
		case p.result == "fail" && panicked(r, p.pkg):
		case p.result == "fail" && failed == 0:
		default:
			continue
		}
		all = append(all, p)
	}
	return all
}

// panicked finds the text of the runtime, also in the output of the test that ran: test2json gives it that.
func panicked(r *run, pkg string) bool {
	for _, o := range r.tests {
		if o.pkg == pkg && o.result == "fail" && isPanic(o.output.String()) {
			return true
		}
	}
	return isPanic(r.packages[name{pkg: pkg}].output.String())
}

func isPanic(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.Contains(text, "\ngoroutine ")
		}
	}
	return false
}
