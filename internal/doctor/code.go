// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"

	"prywalk/internal/code"
	"prywalk/internal/namehints"
)

// code tells what the process's run-time system makes without names, and what gives it names. Nothing is said of a
// process that has none of the known ones.
func (c *checkup) code(p *code.Process) {
	if text := p.ParkedText(); text != "" {
		c.add(finding("target: goroutines", OK, text, ""))
	}
	var files []string
	for _, m := range p.Space().Modules() {
		if at := code.MappingOf(m); at != nil && at.Path != "" && !slices.Contains(files, at.Path) {
			files = append(files, at.Path)
		}
	}
	hint, known := namehints.Of(files)
	if !known {
		return
	}
	if c.namedByTables(p, &hint) {
		return
	}
	if c.hasPerfMap() {
		c.add(finding("target: code", OK, fmt.Sprintf("%s: /tmp/perf-PID.map names its code", hint.Runtime),
			""))
		return
	}
	c.add(finding("target: code", OK, fmt.Sprintf("%s: %s, without names", hint.Runtime, hint.Code), "to get names: "+
		hint.Remedy(c.PID, "record")))
}

// namedByTables tells whether the run-time system is one whose functions are named by its own tables; false: it is not.
func (c *checkup) namedByTables(p *code.Process, hint *namehints.Hint) bool {
	for _, n := range p.Namers() {
		if !hint.Named([]string{"[" + n.Name()}) {
			continue
		}
		if why := p.Unknown(); why != nil {
			c.add(finding("target: code", OK, fmt.Sprintf("%s: %v", n.Name(), why),
				"to get names: "+hint.Remedy(c.PID, "record")))
			return true
		}
		c.add(finding("target: code", OK, n.Name()+": functions have names and lines, from its own tables", ""))
		return true
	}
	return false
}

// hasPerfMap reports whether the process has written names of its code.
func (c *checkup) hasPerfMap() bool {
	f, err := (&code.Files{PID: c.PID}).PerfMap()
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was read
	return true
}
