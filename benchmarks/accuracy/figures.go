// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"prywalk/benchmarks/markdown"
	"prywalk/internal/testtargets"
)

type figures struct {
	Machine  setting    `json:"machine"`
	Date     string     `json:"date"`
	Settings settings   `json:"settings"`
	Test     *verdict   `json:"test,omitempty"`
	Programs []program  `json:"programs"`
	Stacks   []stackRow `json:"stacks,omitempty"`
	Startup  []timing   `json:"startup,omitempty"`
	Naming   []timing   `json:"naming,omitempty"`
}

type program struct {
	Name      string     `json:"name"`
	Error     string     `json:"error,omitempty"`
	Floor     float64    `json:"complete_floor"`
	Complete  *complete  `json:"complete,omitempty"`
	CPU       *cpuSum    `json:"cpu,omitempty"`
	Viewers   *viewers   `json:"viewers,omitempty"`
	Agreement *agreement `json:"agreement,omitempty"`
}

type result struct {
	program *program
	startup []timing
	naming  []timing
}

func loadFigures(path string) (*figures, error) {
	f := &figures{}
	if path == "" {
		return f, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil {
		return nil, fmt.Errorf("the figures of an earlier run: %w; remove the file or give another with -json", err)
	}
	return f, nil
}

func (f *figures) add(r result) {
	if r.startup != nil {
		f.Startup = r.startup
	}
	if r.naming != nil {
		f.Naming = r.naming
	}
	if r.program == nil {
		return
	}
	f.Programs = slices.DeleteFunc(f.Programs, func(p program) bool { return p.Name == r.program.Name })
	f.Programs = append(f.Programs, *r.program)
	names := testtargets.Names()
	slices.SortStableFunc(f.Programs, func(a, b program) int {
		return slices.Index(names, a.Name) - slices.Index(names, b.Name)
	})
}

func (f *figures) find(name string) *program {
	i := slices.IndexFunc(f.Programs, func(p program) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Programs[i]
}

func (f *figures) brief(name string) string {
	p := f.find(name)
	switch {
	case p == nil:
		return ""
	case p.Error != "":
		return "failed: " + strings.SplitN(p.Error, "\n", 2)[0]
	}
	text := fmt.Sprintf("%s complete, CPU %+.2f %%", percent(p.Complete.Share(), 2), p.CPU.Off())
	if p.Agreement != nil {
		text += fmt.Sprintf(", largest |t| %.1f", p.Agreement.largest())
	}
	return text
}

func (f *figures) write(s *settings) error {
	if s.JSON != "" {
		text, err := json.MarshalIndent(f, "", "  ")
		if err == nil {
			err = os.WriteFile(s.JSON, append(text, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	if s.Page == "" {
		return nil
	}
	if s.Completeness {
		return errors.Join(markdown.WriteDataFile(s.Page, "observations", f.wholeTable()),
			markdown.WriteDataFile(s.Page, "methods", f.methodTable()), putTables(s.Page, stacksName, f.stacksMarkdown()))
	}
	return errors.Join(markdown.WriteDataFile(s.Page, "functions", f.agreementTable()),
		markdown.WriteDataFile(s.Page, "totals", f.viewersTable()), putTables(s.Page, sectionName, f.markdown()))
}
