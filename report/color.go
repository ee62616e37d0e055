// SPDX-License-Identifier: Apache-2.0

package report

import "prywalk/internal/base/printable"

const (
	bold       = "\x1b[1m"
	dim        = "\x1b[2m"
	red        = "\x1b[31m"
	resetStyle = "\x1b[0m"
)

func (d *data) color(code, s string) printable.Raw {
	return d.paint(code, printable.Raw(printable.String(s)))
}

func (d *data) paint(code string, s printable.Raw) printable.Raw {
	if d.Options.Color {
		s = printable.Raw(code) + s + resetStyle
	}
	return s
}
