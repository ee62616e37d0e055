// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// divider divides total in proportion to weights ≥ 0, whose sum is weightSum > 0. The sum of the parts is total.
type divider struct {
	total, weightSum int64
	weight           int64
	given            int64
}

func (d *divider) next(weight int64) int64 {
	d.weight += weight
	part := sample.Portion(d.total, d.weight, d.weightSum) - d.given
	d.given += part
	return part
}
