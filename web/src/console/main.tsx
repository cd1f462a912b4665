// The operator's console: one page, drawn by Preact into #app.

import "./console.css";

import { render } from "preact";
import { App } from "./app.tsx";
import { topOfNewPages } from "./route.ts";

const root = document.getElementById("app");
topOfNewPages();
if (root) render(<App />, root);
