# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# One picture of the rows that have all three figures; data and picture are given by run.sh.
set terminal svg size 1100,560 font "sans,12" background "white"
set output picture
set title "nanoseconds (handshakes: microseconds) on one core; lower is better"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 border -1
set logscale y
set yrange [1:*]
set grid ytics
set xtics rotate by -30
set key top left
plot data using 2:xtic(1) title "Firedancer, quoted" linecolor rgb "#999999", \
	"" using 3 title "target" linecolor rgb "#e0b050", \
	"" using 4 title "penstock, here" linecolor rgb "#3070b0"
