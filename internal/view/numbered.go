// SPDX-License-Identifier: Apache-2.0

package view

// IndexIn returns the index of x in a list without duplicates, to which it appends a new x. index has all indices.
func IndexIn[T comparable, N int | int32](list *[]T, index map[T]N, x T) N {
	n, ok := index[x]
	if !ok {
		n = N(len(*list))
		*list = append(*list, x)
		index[x] = n
	}
	return n
}
