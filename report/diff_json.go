// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"math"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
)

type jsonFigure struct {
	// Old is the earlier value, by --per: in the unit of the values (times in nanoseconds), that per second, or a share of
	// 1.
	Old float64 `json:"old"`
	// New is the later value.
	New float64 `json:"new"`
	// Margin is half of the 95 % interval of the change, of all values together: what exceeds it is sure. It is 0 if
	// that is unknown.
	Margin float64 `json:"within"` // users rely on this name, and on sure
	// Significant reports that the change is significant.
	Significant bool `json:"sure"`
}

type jsonChange struct {
	// Name is the function's name, or an entry in brackets.
	Name string `json:"name"`
	// Module is the program's or library's file; of a managed function its package or file.
	Module string `json:"module"`
	// File is the source file, present with --lines where it is known.
	File string `json:"file,omitempty"`
	// Line is the source line, present with --lines where it is known.
	Line int `json:"line,omitempty"`
	// Self compares the time in the function itself.
	Self jsonFigure `json:"self"`
	// Total compares the time in the function and in all that it called.
	Total jsonFigure `json:"total"`
}

// jsonDifference is a comparison of two recordings. Its functions are written one by one.
type jsonDifference struct {
	schema.Head
	// Value is the compared clock.
	Value string `json:"value"`
	// Per is run, second or share.
	Per string `json:"per"`
	// Total is the change of the whole.
	Total jsonFigure `json:"total"`
	// Runs are the numbers of runs: earlier, later.
	Runs [2]int `json:"runs"`
	// Untested is why no change could be tested for significance: sure is false. Absent with a test.
	Untested string `json:"untested,omitempty"`
	// Found is the growth that is found 9 times in 10. Absent without a test.
	Found *jsonFound `json:"found,omitempty"`
	// Cut is what --rows left out, absent if nothing.
	Cut *jsonDiffCut `json:"cut,omitempty"`
	// Functions are in the order of their change.
	Functions []jsonChange `json:"functions,omitempty" schema:"required"`
}

type jsonFound struct {
	// Function is a growth of the self time of a function, as a share of the old total; over 10: none is sure to be found.
	Function float64 `json:"function"`
	// Total is that of the total, absent with one run a side.
	Total float64 `json:"total,omitempty"`
}

type jsonDiffCut struct {
	// Functions is the number of functions that were left out.
	Functions int `json:"functions"`
}

// JSON writes the difference as one line of JSON: all functions, or [Options].N. Times are in nanoseconds, or
// nanoseconds per second; shares of 1.
func (d *Difference) JSON(w io.Writer) error {
	unit := d.unit()
	shown := min(len(d.Changes), d.new.sum.Limit(len(d.Changes)))
	head := jsonDifference{
		Value: d.new.value().Type, Per: d.opts.Per, Total: unit.figure(d.Whole),
		Runs: d.runCounts(), Untested: d.Untested(),
	}
	if d.saysWhatIsFound() {
		function, whole := d.test.leastFound(d.Changes, d.runCounts())
		head.Found = &jsonFound{function, whole}
	}
	if rest := len(d.Changes) - shown; rest > 0 {
		head.Cut = &jsonDiffCut{rest}
	}
	return d.new.sum.Write(w, func(to io.Writer) error {
		out := printable.NewJSONWriter(to)
		out.Begin(head, "functions")
		for i := range d.Changes[:shown] {
			c := &d.Changes[i]
			out.Comma(i)
			out.Value(jsonChange{c.Name, c.Module, c.File, c.Line, unit.figure(c.Self), unit.figure(c.Total)})
		}
		out.Text("]}\n")
		return out.Err()
	})
}

type diffUnit struct {
	per  string // one of [Normalizations]
	unit string
}

func (d *Difference) unit() diffUnit { return diffUnit{d.opts.Per, d.new.sum.Unit} }

func (u diffUnit) text(v float64) string {
	switch u.per {
	case "share":
		return fmt.Sprintf("%.1f%%", 100*v)
	case "second":
		if per, ok := tabular.NanosPer[u.unit]; ok { // per second of one CPU
			return tabular.Nanos(int64(math.Round(v*per))) + "/s"
		}
		return tabular.Format(int64(math.Round(v)), u.unit) + "/s"
	}
	return tabular.Format(int64(math.Round(v)), u.unit)
}

func (u diffUnit) signed(v float64) string {
	switch {
	case v < 0:
		return "-" + u.text(-v)
	case v > 0:
		return "+" + u.text(v)
	}
	return u.text(0)
}

func (u diffUnit) figure(v ComparedValue) jsonFigure {
	nanos, ok := tabular.NanosPer[u.unit]
	if !ok || u.per == "share" {
		nanos = 1
	}
	return jsonFigure{v.Old * nanos, v.New * nanos, v.Margin * nanos, v.Significant}
}
