// The bundler's results for files that are no scripts. A picture becomes its address, and a style sheet becomes a part
// of the page's.

declare module "*.svg" {
  const address: string;
  export default address;
}

declare module "*.css";
