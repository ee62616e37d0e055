// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
)

// Account writes all comments, which say how a recording was made, and all notes.
func Account(w io.Writer, p *profile.Profile, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		d.headingBy(out, maxTarget, func(parts []string) printable.Raw {
			return tabular.Wrap(o.Width, " · ", slices.DeleteFunc(parts, func(p string) bool { return p == "" })...)
		})
		for _, comment := range p.Comments {
			for _, line := range accountLines(comment) {
				out.Printf("%s\n", tabular.Paragraph(o.Width, "  ", line))
			}
		}
		c := d.Coverage()
		notes := d.Notes(d.Rows(d.Profile.Sample), recordAgain)
		for _, line := range append(notes, d.WhyIncomplete(), d.UnnamedTimeText(&c), d.taskHint()) {
			if line != "" {
				out.Printf("%s\n", tabular.Paragraph(o.Width, "  ", line))
			}
		}
		if len(p.Comments) == 0 {
			out.Printf("the profile has no comments on how it was recorded\n")
		}
		return nil
	})
}

// maxTarget is the most columns of the target's names.
const maxTarget = 200

func accountLines(comment string) (lines []string) {
	text, own := strings.CutPrefix(comment, "prywalk: ")
	if !own {
		return []string{comment}
	}
	for part := range strings.SplitSeq(text, headSeparator) {
		lines = append(lines, clauses(part)...)
	}
	return lines
}

func clauses(text string) (out []string) {
	begin, depth := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ';' && depth == 0 && strings.HasPrefix(text[i:], "; "):
			out = append(out, text[begin:i])
			begin = i + len("; ")
		}
	}
	return append(out, text[begin:])
}

const headSeparator = " | "

// divideComment divides prywalk's accounts; in recordings of earlier releases first is "". Other comments stay whole.
func divideComment(comment string) (first, rest string) {
	account, own := strings.CutPrefix(comment, "prywalk: ")
	if !own {
		return comment, ""
	}
	first, rest, divided := strings.Cut(account, headSeparator)
	if !divided {
		return "", account
	}
	return first, rest
}
