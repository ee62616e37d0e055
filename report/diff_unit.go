// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"

	"prywalk/internal/base/tabular"
)

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
