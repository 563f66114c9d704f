package e2e

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A panel of the plot, in pixels: the axes are so far from its edges.
const (
	panelWidth, panelHeight                      = 820.0, 340.0
	insetLeft, insetRight, insetTop, insetBottom = 80.0, 190.0, 50.0, 60.0
	plottedPoints, ticksOfAnAxis                 = 400, 6
)

// curves are what measurement.Curves has, each with its colour (told apart by the colour-blind, too).
var curves = [3]struct{ name, colour string }{
	{name: "evicted", colour: "#d55e00"}, {name: "placed", colour: "#0072b2"}, {name: "released", colour: "#009e73"},
}

// plot draws how many bindings were evicted, placed and released over the seconds since the taint, as SVG: a panel
// for each setting, a curve for each run.
func plot(all []measurement) string {
	settings := bySetting(slices.DeleteFunc(slices.Clone(all), func(m measurement) bool { return m.Recovery > 0 }))
	var out strings.Builder
	height := panelHeight * float64(len(settings))
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" font-family="sans-serif" font-size="13">`+"\n"+
		`<rect width="100%%" height="100%%" fill="white"/>`+"\n", panelWidth, height, panelWidth, height)
	for i, runs := range settings {
		fmt.Fprintf(&out, `<g transform="translate(0 %g)">`+"\n", panelHeight*float64(i))
		panel(&out, runs)
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// panel draws the runs of one setting.
func panel(out *strings.Builder, runs []measurement) {
	seconds, bindings := 0.0, float64(runs[0].Bindings)
	for _, m := range runs {
		seconds = max(seconds, m.value("last-released-sec"))
	}
	x := func(second float64) float64 { return insetLeft + second/seconds*(panelWidth-insetLeft-insetRight) }
	y := func(binding float64) float64 {
		return panelHeight - insetBottom - binding/bindings*(panelHeight-insetTop-insetBottom)
	}
	write := func(x, y float64, anchor, more, what string) {
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, more, what)
	}
	line := func(style string, points ...float64) {
		out.WriteString(`<polyline fill="none" ` + style + ` points="`)
		for i := 0; i < len(points); i += 2 {
			fmt.Fprintf(out, "%.1f,%.1f ", x(points[i]), y(points[i+1]))
		}
		out.WriteString(`"/>` + "\n")
	}

	runsOfIt := fmt.Sprintf("%d runs", len(runs))
	if len(runs) == 1 {
		runsOfIt = "1 run"
	}
	write(insetLeft, insetTop-20, "start", `font-size="16" font-weight="bold"`, runs[0].title()+", "+runsOfIt)
	const grid, axis = `stroke="#dddddd"`, `stroke="#333333"`
	for at := step(seconds); at <= seconds; at += step(seconds) {
		line(grid, at, 0, at, bindings)
		write(x(at), y(0)+18, "middle", "", fmt.Sprint(at))
	}
	for at := step(bindings); at <= bindings; at += step(bindings) {
		line(grid, 0, at, seconds, at)
		write(insetLeft-8, y(at)+4, "end", "", fmt.Sprint(at))
	}
	line(axis, 0, bindings, 0, 0, seconds, 0)
	write(insetLeft-8, y(0)+18, "end", "", "0")
	write(x(seconds/2), panelHeight-18, "middle", "", "seconds since the NoExecute taint")
	write(0, 0, "middle", fmt.Sprintf(`transform="translate(22 %.1f) rotate(-90)"`, y(bindings/2)), "bindings")

	legend := func(row int, style, what string) {
		at := panelWidth - insetRight + 20
		fmt.Fprintf(out, `<line x1="%g" x2="%g" y1="%g" y2="%g" %s/>`+"\n", at, at+24, insetTop+10+22*float64(row), insetTop+10+22*float64(row), style)
		write(at+32, insetTop+14+22*float64(row), "start", "", what)
	}
	for i, c := range curves {
		style := fmt.Sprintf(`stroke="%s" stroke-width="1.8"`, c.colour)
		for _, m := range runs {
			line(style, points(m.Curves[i])...)
		}
		legend(i, style, c.name)
	}
	limit, what := runs[0].value("raw-patches/sec"), "patches alone"
	if rate := schedulerRates[runs[0].Scheduler]; rate > 0 {
		limit, what = rate, "scheduler alone"
	}
	const dashed = `stroke="#777777" stroke-dasharray="6 4"`
	line(dashed, 0, 0, min(bindings/limit, seconds), min(bindings, seconds*limit))
	legend(len(curves), dashed, fmt.Sprintf("%s: %.0f/s", what, limit))
}

// points are those of a curve that counts, thinned out.
func points(times []float64) []float64 {
	every := max(len(times)/plottedPoints, 1)
	var out []float64
	for i := 0; i < len(times); i += every {
		out = append(out, times[i], float64(i))
	}
	return append(out, times[len(times)-1], float64(len(times)))
}

// step is the distance between two ticks of an axis: 1, 2 or 5 times a power of ten.
func step(length float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(length/ticksOfAnAxis)))
	for _, times := range []float64{1, 2, 5} {
		if length/(times*power) <= ticksOfAnAxis {
			return times * power
		}
	}
	return 10 * power
}
