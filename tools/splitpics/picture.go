package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"text/template"

	"redrain/rain"
)

const (
	campaigns = 20_000 // cut for each picture
	packets   = 10     // of each campaign
	mean      = 1_000  // of a packet, in minor units: ten yuan

	binWidth = 50 // minor units, of each bar
	upTo     = 3_000
	bins     = upTo/binWidth + 1 // the last one holds all that is larger

	barWidth, barHeight = 10, 160 // pixels
)

// picture is one distribution.
type picture struct {
	File  string
	Title string
	split rain.SplitSpec
}

// pictures are those of docs/understand/splits.md.
func pictures() []picture {
	of := func(file, title string, kind rain.SplitKind, least rain.Money, most *rain.Money,
		amounts ...rain.Money) picture {
		return picture{File: file, Title: title, split: rain.SplitSpec{
			Budget: packets * mean, Packets: packets, Split: kind, Min: least, Max: most, Amounts: amounts,
		}}
	}
	most := rain.Money(1_400)
	return []picture{
		of("double_mean.svg", "double_mean", rain.DoubleMean, 1, nil),
		of("double_mean_bounds.svg", "double_mean, 5.00 to 14.00", rain.DoubleMean, 500, &most),
		of("low_variance.svg", "low_variance", rain.LowVariance, 1, nil),
		of("gaussian.svg", "gaussian", rain.Gaussian, 1, nil),
		of("gaussian_bounds.svg", "gaussian, 5.00 to 14.00", rain.Gaussian, 500, &most),
		of("even.svg", "even", rain.Even, 1, nil),
		of("list.svg", "list of one 28.00, two 15.00, seven 6.00", rain.List, 1, nil, 2_800, 1_500, 1_500, 600, 600,
			600, 600, 600, 600, 600),
	}
}

// count cuts many campaigns and sorts their packets into bins.
func (p *picture) count() ([bins]int, error) {
	var counts [bins]int
	for i := range campaigns {
		amounts, err := p.split.Cut(sha256.Sum256(fmt.Appendf(nil, "picture %d", i)))
		if err != nil {
			return counts, fmt.Errorf("%s: %w", p.File, err)
		}
		for _, a := range amounts {
			counts[min(a/binWidth, bins-1)]++
		}
	}
	return counts, nil
}

// bar is a bin as it is drawn, in pixels from the upper left.
type bar struct{ X, Y, Height int }

// tick is a number under the bars.
type tick struct {
	X    int
	Text string
}

// draw makes the SVG.
func (p *picture) draw() ([]byte, error) {
	counts, err := p.count()
	if err != nil {
		return nil, err
	}
	fullest := 0
	for _, c := range counts {
		fullest = max(fullest, c)
	}
	var bars []bar
	for i, c := range counts {
		if c > 0 {
			height := max(1, c*barHeight/fullest) // a bin that is not empty can be seen
			bars = append(bars, bar{X: left + i*barWidth, Y: top + barHeight - height, Height: height})
		}
	}
	var ticks []tick
	for amount := 0; amount <= upTo; amount += 500 {
		ticks = append(ticks, tick{X: left + amount/binWidth*barWidth, Text: rain.Money(amount).String()})
	}
	ticks[len(ticks)-1].Text += "+"
	var out bytes.Buffer
	err = svg.Execute(&out, map[string]any{
		"Title": p.Title, "Bars": bars, "Ticks": ticks, "BarWidth": barWidth - 1, "Left": left,
		"Right": left + bins*barWidth, "Top": top, "Floor": top + barHeight, "Mean": left + mean/binWidth*barWidth,
		"Share": fmt.Sprintf("the highest bar: %d.%d %% of the packets", share(fullest)/10, share(fullest)%10),
		"Note": fmt.Sprintf("%s campaigns of %d packets and %s; bars of %s, the last of all above; "+
			"the dashed line is the mean",
			thousands(campaigns), packets, rain.Money(packets*mean), rain.Money(binWidth)),
	})
	return out.Bytes(), err
}

// share is a count in thousandths of all packets.
func share(count int) int { return count * 1_000 / (campaigns * packets) }

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1_000, n%1_000) }

// The space around the bars, in pixels.
const left, top = 30, 40

var svg = template.Must(template.New("svg").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 250" width="680" height="250"` +
		` font-family="sans-serif" font-size="12">
<title>{{.Title}}</title>
<rect width="680" height="250" fill="#fff"/>
<text x="{{.Left}}" y="24" font-size="15" font-weight="bold" fill="#222">{{.Title}}</text>
<text x="{{.Right}}" y="24" text-anchor="end" fill="#666">{{.Share}}</text>
<g fill="#c8102e">
{{- range .Bars}}
<rect x="{{.X}}" y="{{.Y}}" width="{{$.BarWidth}}" height="{{.Height}}"/>
{{- end}}
</g>
<path d="M{{.Left}} {{.Floor}}H{{.Right}}" stroke="#222"/>
<path d="M{{.Mean}} {{.Top}}V{{.Floor}}" stroke="#222" stroke-dasharray="4 4"/>
<g fill="#222" text-anchor="middle">
{{- range .Ticks}}
<text x="{{.X}}" y="218">{{.Text}}</text>
{{- end}}
</g>
<text x="{{.Left}}" y="240" fill="#666">{{.Note}}</text>
</svg>
`))
